/** Alerts, rules and silences: what the pages ask for and change. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson, remove } from "./client";
import { figure, maybe, pageOf, text } from "./shapes";
import { taskShape } from "./tasks";

// What the API answers about alerts, rules and silences (docs/contracts/alerts.md).

const words = v.record(v.string(), v.string());

const alertFields = {
  alert_id: v.number(),
  rule: v.string(),
  labels: words,
  phase: v.string(),
  severity: v.string(),
  since: v.string(),
  seen: v.string(),
  fired_at: text,
  resolved_at: text,
  value: v.number(),
  peak: v.number(),
  probability: figure,
  summary: v.string(),
  simulated: v.boolean(),
  page: text,
};
export const alertShape = v.object(alertFields);
export type Alert = v.InferOutput<typeof alertShape>;
export const alertsShape = pageOf(alertShape);
export type AlertPage = v.InferOutput<typeof alertsShape>;

const series = v.fallback(v.array(v.number()), []);
/** Evidence differs with the signal; what every signal has is read, the rest is shown as it is. */
const evidenceShape = v.looseObject({
  at_s: v.optional(series, []),
  value: v.optional(series, []),
  above: maybe(v.number()),
  clear: maybe(v.number()),
});
export const alertDetailShape = v.object({
  ...alertFields,
  evidence: v.pipe(v.record(v.string(), v.unknown()), evidenceShape),
  notices: v.array(
    v.object({
      receiver: v.string(),
      status: v.string(),
      turn: v.number(),
      created: v.string(),
      delivered: text,
      attempts: v.number(),
      tried: v.optional(text, null),
      error: text,
    }),
  ),
});
export type AlertDetail = v.InferOutput<typeof alertDetailShape>;

export const ruleFields = v.looseObject({
  name: v.string(),
  signal: v.string(),
  above: v.number(),
  clear: maybe(v.number()),
  probability: maybe(v.number()),
  for_s: v.number(),
  every_s: v.number(),
  absent_s: v.number(),
  by: v.string(),
  where: words,
  congested_at: v.number(),
  severity: v.string(),
  summary: v.string(),
  labels: words,
  enabled: v.boolean(),
});
export type Rule = v.InferOutput<typeof ruleFields>;
export const storedRuleShape = v.object({
  rule: v.pipe(v.record(v.string(), v.unknown()), ruleFields),
  source: v.string(),
  updated: v.string(),
  through: text,
});
export type StoredRule = v.InferOutput<typeof storedRuleShape>;
export const rulesShape = v.object({ items: v.array(storedRuleShape) });

export const silencesShape = v.object({
  items: v.array(
    v.object({
      silence_id: v.number(),
      matchers: words,
      starts: v.string(),
      ends: v.string(),
      comment: text,
      created_by: v.string(),
      created: v.string(),
      active: v.boolean(),
    }),
  ),
});
export type Silence = v.InferOutput<typeof silencesShape>["items"][number];

export const contactShape = v.object({
  name: v.string(),
  addresses: v.nullable(v.array(v.string())),
  least_severity: v.string(),
  updated: v.string(),
  test_asked_at: text,
  test_tried_at: text,
  test_error: text,
});
export type Contact = v.InferOutput<typeof contactShape>;
export const contactsShape = v.object({ items: v.array(contactShape) });

/** The result of task `alerting.test`. */
export const dryRunShape = v.object({
  rule: v.string(),
  from_s: v.number(),
  to_s: v.number(),
  samples: v.number(),
  series: v.number(),
  fired: v.number(),
  alerts: v.array(
    v.object({
      labels: words,
      fired_s: v.number(),
      resolved_s: figure,
      peak: v.number(),
      probability: maybe(v.number()),
      summary: v.string(),
    }),
  ),
});
export type DryRun = v.InferOutput<typeof dryRunShape>;

const PACE_MS = 30_000;

export const alertsQuery = (phase: "firing" | "pending" | "resolved", limit = 200) =>
  infiniteQueryOptions({
    queryKey: ["alerts", "list", phase, limit],
    queryFn: ({ pageParam, signal }) => getJson(alertsShape, "/alerts", { phase, limit, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: PACE_MS,
    placeholderData: keepPreviousData,
  });

/** The newest alerts of one rule, whatever their phase. */
export const alertsOfRuleQuery = (rule: string) =>
  queryOptions({
    queryKey: ["alerts", "of rule", rule],
    queryFn: ({ signal }) => getJson(alertsShape, "/alerts", { rule, limit: 50 }, signal),
    refetchInterval: PACE_MS,
  });

/** A message is delivered after the stream has spoken of its alert: asked often while one waits. */
export const alertQuery = (id: number) =>
  queryOptions({
    queryKey: ["alerts", "one", id],
    queryFn: ({ signal }) => getJson(alertDetailShape, `/alerts/${id}`, {}, signal),
    refetchInterval: ({ state }) => (state.data?.notices.some(({ delivered }) => delivered === null) ? 5000 : PACE_MS),
  });

export const rulesQuery = () =>
  queryOptions({
    queryKey: ["alerts", "rules"],
    queryFn: ({ signal }) => getJson(rulesShape, "/alerts/rules", {}, signal),
    refetchInterval: PACE_MS,
  });

export const silencesQuery = () =>
  queryOptions({
    queryKey: ["alerts", "silences"],
    queryFn: ({ signal }) => getJson(silencesShape, "/alerts/silences", {}, signal),
    refetchInterval: PACE_MS,
  });

/** Asked often only while a test mail is on its way. */
export const contactsQuery = () =>
  queryOptions({
    queryKey: ["alerts", "contacts"],
    queryFn: ({ signal }) => getJson(contactsShape, "/alerts/contacts", {}, signal),
    refetchInterval: ({ state }) => (state.data?.items.some(isTesting) ? 1000 : PACE_MS),
  });

/** Whether a test mail waits for the engine. */
export const isTesting = ({ test_asked_at: asked, test_tried_at: tried }: Contact): boolean =>
  asked !== null && (tried === null || Date.parse(tried) < Date.parse(asked));

const contactPath = (name: string) => `/alerts/contacts/${encodeURIComponent(name)}`;
export const saveContact = (contact: { name: string; addresses: string[]; least_severity: string }) =>
  postJson(
    contactShape,
    contactPath(contact.name),
    { addresses: contact.addresses, least_severity: contact.least_severity },
    "PUT",
  );
export const testContact = (name: string) => postJson(contactShape, `${contactPath(name)}/test`, {});
export const removeContact = (name: string) => remove(contactPath(name));

/** The fields of PUT /alerts/rules/{name}: seconds are plain numbers there. */
export function ruleBody({ for_s, every_s, absent_s, ...rest }: Rule): Record<string, unknown> {
  return { ...rest, name: undefined, for: for_s, every: every_s, absent: absent_s };
}

export const saveRule = (rule: Rule) =>
  postJson(storedRuleShape, `/alerts/rules/${encodeURIComponent(rule.name)}`, ruleBody(rule), "PUT");
export const testRule = (rule: Rule, from: string, to: string) =>
  postJson(taskShape, "/alerts/rules/test", { rule: ruleBody(rule), from, to });
export const addSilence = (silence: { matchers: Record<string, string>; ends: string; comment: string }) =>
  postJson(silencesShape, "/alerts/silences", silence);
export const endSilence = (id: number) => remove(`/alerts/silences/${id}`);
