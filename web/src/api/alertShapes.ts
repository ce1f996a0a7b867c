/** What the API answers about alerts, rules and silences (docs/contracts/alerts.md). */
import * as v from "valibot";
import { figure, maybe, pageOf, text } from "./shapes";

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
      comment: v.nullable(v.string()),
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
