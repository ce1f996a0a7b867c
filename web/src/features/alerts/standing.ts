/** Alerts in words, and which silence keeps one quiet. Pure. */
import { quantile } from "d3-array";
import type { Alert, Rule, Silence } from "../../api/alerts";
import { count, duration, percent, ratio } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";

// A rule made from a chart: its metric, its machine, and a threshold above what the chart shows. Pure.

export interface ChartSample {
  /** ms since 1970 */
  at: number;
  /** In the signal's unit; NaN if it is unknown. */
  value: number;
}

/** What a chart shows, in the terms of a rule. */
export interface Watched {
  signal: "stall_ratio" | "slowdown";
  /** The labels of the chart's series. */
  where: Record<string, string>;
  samples: ChartSample[];
  span: { from: number; to: number };
}

/** Below it lies what the chart shows for 95 % of its time. */
const LEVEL = 0.95;
const ROUNDED = 2;
/** Steps are slow from here on, as in the rules that a site begins with. */
const SLOW = 1.2;
const LIKELY = 0.8;

/** The 95th percentile of what is shown, to two digits; null if nothing is known. */
export function usualLevel(samples: readonly ChartSample[]): number | null {
  const known = samples.map(({ value }) => value).filter(Number.isFinite);
  const level = known.length ? quantile(known, LEVEL) : undefined;
  return level === undefined || level <= 0 ? null : Number(level.toPrecision(ROUNDED));
}

/** Words of a rule's name, as the API takes them, and not one of those that are taken. */
export function freeName(words: string, taken: ReadonlySet<string>): string {
  const slug =
    words
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 70) || "rule";
  for (let n = 1; ; n++) {
    const name = n === 1 ? slug : `${slug}-${n}`;
    if (!taken.has(name)) return name;
  }
}

export function ruleOf({ signal, where, samples }: Watched, taken: ReadonlySet<string>): Rule {
  const about = Object.values(where).join(" ");
  const stalls = signal === "stall_ratio";
  return {
    name: freeName(`${stalls ? "stalls" : "slow"} ${about.split("/").at(-1) ?? about}`, taken),
    signal,
    above: stalls ? (usualLevel(samples) ?? 1) : SLOW,
    clear: null,
    probability: stalls ? null : LIKELY,
    for_s: stalls ? 120 : 60,
    every_s: stalls ? 60 : 30,
    absent_s: 600,
    by: "machine",
    where,
    congested_at: 1,
    severity: "warning",
    summary: stalls
      ? "{fabric}: {value} stalls per flit"
      : "Job {job} ({exe}) is predicted to take {value} times as long as usual for its next steps",
    labels: {},
    enabled: true,
  };
}

export type Level = "high" | "medium" | "info";
export const levelOf = (severity: string): Level =>
  severity === "critical" ? "high" : severity === "warning" ? "medium" : "info";

/** Which alerts a contact gets, by the least severity. */
export const SEVERITIES: Record<string, string> = {
  info: "all alerts",
  warning: "warning and critical",
  critical: "critical only",
};

/** The unit is next to every value of a signal. */
const UNITS: Record<string, string> = {
  slowdown: "× usual",
  stall_ratio: "× sending time",
  congested_routers: "of the routers",
  root: "links",
  blamed_user: "nodes",
  forecast_drift: "index",
  ingest_gap: "devices",
  counter_silence: "s",
  slow_cable: "× slower",
  flapping_cable: "failures and speed changes in 24 h",
};
export const unitOf = (signal: string | null | undefined): string => UNITS[signal ?? ""] ?? "";

export function valueText(value: number, signal: string | null | undefined): string {
  if (signal === "congested_routers") return percent(value);
  if (signal === "counter_silence") return duration(value);
  return Number.isInteger(value) ? count(value) : value < 1 ? value.toFixed(2) : ratio(value);
}

const APPLIES = /^\/(.+)\/$/s;

/** A matcher between slashes is a regular expression of the whole value, as in the engine. */
function holds(wanted: string, held: string): boolean {
  const expression = APPLIES.exec(wanted)?.[1];
  if (expression === undefined) return wanted === held;
  try {
    return new RegExp(`^(?:${expression})$`, "u").test(held);
  } catch {
    return false;
  }
}

/** The silence that holds now for an alert. */
export function silencing(
  alert: Alert,
  rule: Pick<Rule, "signal"> | undefined,
  silences: Silence[],
  now: number,
): Silence | null {
  const labels: Record<string, string> = {
    ...alert.labels,
    rule: alert.rule,
    severity: alert.severity,
    signal: rule?.signal ?? "",
  };
  return (
    silences.find((silence) => {
      const [starts, ends] = [parseTime(silence.starts) ?? Infinity, parseTime(silence.ends) ?? -Infinity];
      return (
        starts <= now &&
        now < ends &&
        Object.entries(silence.matchers).every(([name, wanted]) => holds(wanted, labels[name] ?? ""))
      );
    }) ?? null
  );
}

/** "firing for 12 min", "fired 14:02, lasted 8 min". */
export function lasted(alert: Pick<Alert, "fired_at" | "resolved_at" | "since" | "phase">, now: number): string {
  const fired = parseTime(alert.fired_at);
  const over = parseTime(alert.resolved_at);
  if (fired === null) return `above the threshold since ${moment(parseTime(alert.since) ?? now, now)}`;
  if (over === null) return `firing for ${duration(Math.max(0, (now - fired) / 1000))}`;
  return `${moment(fired, now)}, lasted ${duration((over - fired) / 1000)}`;
}

/** Rules are evaluated every minute unless they say otherwise; a value that is older than two rounds is not one of now. */
const CURRENT_MS = 120_000;

/** "now 224", or the time of the last sample where there has been none since: "224 at 18:49". */
export function lastValue(
  alert: Pick<Alert, "phase" | "seen" | "value">,
  signal: string | null | undefined,
  now: number,
): string {
  const value = valueText(alert.value, signal);
  if (alert.phase === "resolved") return `last ${value}`;
  const seen = parseTime(alert.seen);
  if (seen === null) return `last ${value}`;
  return now - seen <= CURRENT_MS ? `now ${value}` : `${value} at ${moment(seen, now)}`;
}

/** A rule as one line: "stall_ratio by group ≥ 4 for 5 min, clears below 2". */
export function ruleText(rule: Rule): string {
  const by = /^(stall_ratio|congested_routers)$/.test(rule.signal) ? ` by ${rule.by}` : "";
  const likely = rule.probability === null ? "" : `, probability ≥ ${percent(rule.probability)}`;
  const held = rule.for_s > 0 ? ` for ${duration(rule.for_s)}` : "";
  return `${rule.signal}${by} ≥ ${rule.above}${likely}${held}${rule.clear === null ? "" : `, clears below ${rule.clear}`}`;
}

/** Only a path of this page is followed. */
export const ownPath = (page: string | null): string | null =>
  page && /^\/(fabric|jobs|incidents|blame|drivers|forecast|lab|advice|recommendations|health)(\/|\?|$)/.test(page)
    ? page
    : null;
