import type { RunTime } from "../../api/estimateShapes";
import { count, duration, inWords, percent } from "../../lib/format";

/** How long a job takes in all, with its interval; or why that is unknown. */
export const runTimeText = (told: RunTime): string =>
  told.expected_s === null
    ? `cannot tell: ${told.lacks ?? "no similar jobs"}`
    : `${duration(told.expected_s)} in all (90 %: ${duration(told.low_s)} to ${duration(told.high_s)})`;

/** What it rests on, short enough for a row; or why there is nothing. */
export const restsOnText = (told: RunTime): string =>
  told.basis === null
    ? (told.lacks ?? "no similar jobs")
    : `${count(told.jobs)} longer jobs of the same ${inWords(told.basis)}`;

/** How often such an interval held on jobs that were forecast from those before them. */
export const heldText = ({ basis, tested, coverage90 }: RunTime): string =>
  basis === null ? "" : coverage90 === null ? "too few to test" : `${percent(coverage90)} of ${count(tested)}`;
