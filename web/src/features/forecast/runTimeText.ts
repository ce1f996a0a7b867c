import type { RunTime } from "../../api/estimateShapes";
import { duration } from "../../lib/format";

/** How long a job takes in all, with its interval; or why that is unknown. */
export const runTimeText = (told: RunTime): string =>
  told.expected_s === null
    ? `cannot tell: ${told.lacks ?? "nothing is known of its like"}`
    : `${duration(told.expected_s)} in all (90 %: ${duration(told.low_s)} to ${duration(told.high_s)})`;
