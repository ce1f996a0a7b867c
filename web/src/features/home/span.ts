// The time that home's costs and coverage are of: the last hour, today as UTC counts days, or the last seven days.
import type { TimeWindow } from "../../lib/time";
import type { Span } from "./address";

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
const DAY_MS = 24 * HOUR_MS;

export const SPAN_WORDS: Record<Span, string> = { hour: "last hour", today: "today", week: "last 7 days" };

/** Of what ends at `through`, in whole minutes; today has at least one. */
export function spanWindow(span: Span, through: number): TimeWindow {
  const to = Math.ceil(through / MINUTE_MS) * MINUTE_MS;
  if (span === "today") return { from: Math.min(through - (through % DAY_MS), to - MINUTE_MS), to };
  return { from: to - (span === "hour" ? HOUR_MS : 7 * DAY_MS), to };
}
