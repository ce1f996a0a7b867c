import type { RestsOn, RunTime } from "../../api/estimateShapes";
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

/** Which inputs carry a forecast, in one line; none where the interval of each holds zero. */
export function restsText(rests: RestsOn): string {
  const sure = rests.inputs.filter((one) => one.verdict === "carries");
  const [first] = sure;
  if (!first) return `${rests.forecaster}: cannot tell, no input adds more error than chance`;
  const others = sure.length > 1 ? `, and ${sure.length - 1} more` : "";
  return `${rests.forecaster}: first ${first.name} (+${first.increase.toFixed(1)} points)${others}`;
}
