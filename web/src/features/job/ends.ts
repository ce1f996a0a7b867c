// When a running job ends: a range, or that it is unknown and why.
import type { RunTime } from "../../api/estimateShapes";
import { inWords, plural } from "../../lib/format";
import { intervalText, moment, parseTime, ZONE } from "../../lib/time";

/** The 90 % range of its end, as a cell of a table. */
export function endsText(told: RunTime | null | undefined, now: number): string {
  const [from, to] = [parseTime(told?.ends_low), parseTime(told?.ends_high)];
  return from === null || to === null ? "unknown" : intervalText({ from, to }, now, false);
}

/** The same as a sentence of the job's page. */
export function endsSentence(told: RunTime, now: number): string {
  const ends = parseTime(told.ends);
  if (ends === null) return `When it ends is unknown: ${told.lacks ?? "no similar job lasted as long"}.`;
  const basis = told.basis === null ? "" : ` of the same ${inWords(told.basis)}`;
  return `Ends about ${moment(ends, now)} ${ZONE} (${endsText(told, now)}, 90 %), as ${plural(told.jobs, "job")}${basis} that ran as long.`;
}
