/** The window in which the root of a job's congestion is looked for. Pure: times in milliseconds. */
import type { Explanation } from "../../api/estimateShapes";
import type { Moment } from "../../api/queries";
import { parseTime } from "../../lib/time";

/** The minute after the onset, as the explanation gives it; null if the job is not slow, or where too little of that minute has passed or was slow. */
export function afterOnset(told: Explanation | undefined): Moment | null {
  const [from, to] = [parseTime(told?.root_from), parseTime(told?.root_to)];
  return from === null || to === null ? null : { at: to, windowMs: to - from };
}
