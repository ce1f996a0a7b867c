import type { Explanation, SlowRun } from "../../api/estimateShapes";
import type { Column } from "../../components/DataTable";
import { lostTime } from "../../lib/format";
import { clock, isoTime, parseTime, type TimeWindow, ZONE } from "../../lib/time";
import type { Span } from "../addresses";
import type { Item, jobStalls } from "./attention";

// What a remedy saves, or would have saved, as a sentence.

type AnyRemedy = Explanation["remedies"][number];
type Remedy = Pick<AnyRemedy, "minutes_saved" | "in_past" | "job_id"> &
  Partial<Pick<AnyRemedy, "minutes_saved_low" | "minutes_saved_high">>;

/**
 * Null if that is unknown or nothing. How long the other job goes on is not known, so what holding it saves is the most that it can. It is estimated anew
 * with each step of the slowed job, and of the job that wastes most nodes: `asOf` says when.
 */
export function savedText(remedy: Remedy, asOf: string | null = null): string | null {
  const minutes = remedy.minutes_saved;
  if (minutes === null || minutes <= 0) return null;
  const [low, high] = [remedy.minutes_saved_low, remedy.minutes_saved_high];
  const interval =
    low == null || high == null ? "" : ` (95 %: ${lostTime(Math.max(0, low) * 60)} to ${lostTime(high * 60)})`;
  const saved = `${lostTime(minutes * 60)}${interval}`;
  if (remedy.in_past) return `Lost ${saved}.`;
  const at = parseTime(asOf);
  const speed = at === null ? "the present speed" : `the speed of ${clock(at, true)} ${ZONE}`;
  return `At ${speed}, this saves up to ${saved}, less if job ${remedy.job_id} ends sooner.`;
}

// The time that home's costs and coverage are of: the last hour, today as UTC counts days, or the last seven days.

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
const DAY_MS = 24 * HOUR_MS;

export const SPAN_WORDS: Record<Span, string> = { hour: "last hour", today: "today", week: "last 7 days" };

/** Of what ends at `through`, in whole minutes; today has at least one. */
export function spanWindow(span: Span, through: number): TimeWindow {
  const to = Math.ceil(through / MINUTE_MS) * MINUTE_MS;
  if (span === "today") return { from: Math.min(through - (through % DAY_MS), to - MINUTE_MS), to };
  return { from: to - (span === "hour" ? HOUR_MS : 7 * DAY_MS), to };
}

// Columns of the home page's exports.

export const itemColumns: Column<Item>[] = [
  { key: "level", header: "level", value: (i) => i.level },
  { key: "title", header: "what", value: (i) => i.title },
  { key: "detail", header: "detail", value: (i) => i.detail },
  { key: "stake", header: "at stake", value: (i) => i.stake },
  { key: "at", header: `since, ${ZONE}`, value: (i) => (i.at === null ? null : isoTime(i.at)) },
  { key: "href", header: "evidence", value: (i) => i.href },
];
export const stallColumns = (ratio: string): Column<ReturnType<typeof jobStalls>[number]>[] => [
  { key: "job", header: "job", value: (s) => s.job.job_id },
  { key: "name", header: "name", value: (s) => s.job.name },
  { key: "user", header: "user", value: (s) => s.job.user },
  { key: "nodes", header: "nodes", value: (s) => s.job.nodes },
  { key: "ratio", header: ratio, value: (s) => s.ratio },
  { key: "factor", header: "vs machine", value: (s) => s.factor },
];

export const UNCOMPARED = "no earlier run has these steps";
export const slowColumns: Column<SlowRun>[] = [
  { key: "job", header: "job", value: (one) => one.job_id },
  { key: "name", header: "name", value: (one) => one.name },
  { key: "user", header: "user", value: (one) => one.user },
  { key: "nodes", header: "nodes", value: (one) => one.nodes },
  { key: "slowdown", header: "slowdown", value: (one) => one.slowdown },
  { key: "earlier", header: "earlier runs", value: (one) => one.earlier_runs },
  { key: "low", header: `ends, from, ${ZONE}`, value: (one) => one.run_time?.ends_low ?? null },
  { key: "high", header: `ends, to, ${ZONE}`, value: (one) => one.run_time?.ends_high ?? null },
];
