/** A rule made from a chart: its metric, its machine, and a threshold above what the chart shows. Pure. */
import { quantile } from "d3-array";
import type { Rule } from "../../api/alertShapes";

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
export function levelOf(samples: readonly ChartSample[]): number | null {
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
    above: stalls ? (levelOf(samples) ?? 1) : SLOW,
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
