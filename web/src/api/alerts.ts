/** Alerts, rules and silences: what the pages ask for and change. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as shapes from "./alertShapes";
import { getJson, postJson, remove } from "./client";
import { taskShape } from "./tasks";

const PACE_MS = 30_000;

export const alertsQuery = (phase: "firing" | "pending" | "resolved", limit = 200) =>
  infiniteQueryOptions({
    queryKey: ["alerts", "list", phase, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson(shapes.alertsShape, "/alerts", { phase, limit, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: PACE_MS,
    placeholderData: keepPreviousData,
  });

/** The newest alerts of one rule, whatever their phase. */
export const alertsOfRuleQuery = (rule: string) =>
  queryOptions({
    queryKey: ["alerts", "of rule", rule],
    queryFn: ({ signal }) => getJson(shapes.alertsShape, "/alerts", { rule, limit: 50 }, signal),
    refetchInterval: PACE_MS,
  });

export const alertQuery = (id: number) =>
  queryOptions({
    queryKey: ["alerts", "one", id],
    queryFn: ({ signal }) => getJson(shapes.alertDetailShape, `/alerts/${id}`, {}, signal),
  });

export const rulesQuery = () =>
  queryOptions({
    queryKey: ["alerts", "rules"],
    queryFn: ({ signal }) => getJson(shapes.rulesShape, "/alerts/rules", {}, signal),
    refetchInterval: PACE_MS,
  });

export const silencesQuery = () =>
  queryOptions({
    queryKey: ["alerts", "silences"],
    queryFn: ({ signal }) => getJson(shapes.silencesShape, "/alerts/silences", {}, signal),
    refetchInterval: PACE_MS,
  });

/** Asked often only while a test mail is on its way. */
export const contactsQuery = () =>
  queryOptions({
    queryKey: ["alerts", "contacts"],
    queryFn: ({ signal }) => getJson(shapes.contactsShape, "/alerts/contacts", {}, signal),
    refetchInterval: ({ state }) => (state.data?.items.some(isTesting) ? 1000 : PACE_MS),
  });

/** Whether a test mail waits for the engine. */
export const isTesting = ({ test_asked_at: asked, test_tried_at: tried }: shapes.Contact): boolean =>
  asked !== null && (tried === null || Date.parse(tried) < Date.parse(asked));

const contactPath = (name: string) => `/alerts/contacts/${encodeURIComponent(name)}`;
export const saveContact = (contact: { name: string; addresses: string[]; least_severity: string }) =>
  postJson(
    shapes.contactShape,
    contactPath(contact.name),
    { addresses: contact.addresses, least_severity: contact.least_severity },
    "PUT",
  );
export const testContact = (name: string) => postJson(shapes.contactShape, `${contactPath(name)}/test`, {});
export const removeContact = (name: string) => remove(contactPath(name));

/** The fields of PUT /alerts/rules/{name}: seconds are plain numbers there. */
export function ruleBody({ for_s, every_s, absent_s, ...rest }: shapes.Rule): Record<string, unknown> {
  return { ...rest, name: undefined, for: for_s, every: every_s, absent: absent_s };
}

export const saveRule = (rule: shapes.Rule) =>
  postJson(shapes.storedRuleShape, `/alerts/rules/${encodeURIComponent(rule.name)}`, ruleBody(rule), "PUT");
export const testRule = (rule: shapes.Rule, from: string, to: string) =>
  postJson(taskShape, "/alerts/rules/test", { rule: ruleBody(rule), from, to });
export const addSilence = (silence: { matchers: Record<string, string>; ends: string; comment: string }) =>
  postJson(shapes.silencesShape, "/alerts/silences", silence);
export const endSilence = (id: number) => remove(`/alerts/silences/${id}`);
