import { isoTime, parseTime } from "../../lib/time";

/** Seconds of counters that a replay reads: of a shorter slow stretch all of it, and a minute at least. */
const LONGEST_S = 300;
const LEAST_S = 60;

/** The window of a replay in an address: the first minutes in which a job was slow; before it, or after it, others sent something else. */
export function slowWindow(since: string | null, until: string | null, now: number): { at: string; window: number } {
  const end = parseTime(until) ?? now;
  const begin = parseTime(since) ?? end;
  const window = Math.round(Math.min(LONGEST_S, Math.max(LEAST_S, (end - begin) / 1000)));
  return { at: isoTime(Math.max(begin + LEAST_S * 1000, Math.min(end, begin + window * 1000))), window };
}
