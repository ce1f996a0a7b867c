import type { Next, RestsOn, RunTime } from "../../api/estimateShapes";
import { change, count, duration, inWords, percent, plural } from "../../lib/format";

/** A forecast in one line: time, interval, usual. */
export const nextText = (next: Next): string =>
  `next ${plural(next.ahead, "step")}: ${duration(next.expected_s)} (90 %: ${duration(next.low_s)} to ${duration(next.high_s)}), usual ${duration(next.usual_s)}, ${change(next.slowdown)}`;

/** Error that many times that of the backtest is worse, and so is a band that held less often than chance explains (two standard errors). */
const WORSE = 1.5;

/** How a forecaster does worse since its estimate than in the backtest; empty if it does not, or where too few outcomes tell. */
export function worseText(
  { forecasts, coverage90, mape }: { forecasts: number; coverage90: number | null; mape: number | null },
  backtestMape: number,
): string {
  if (forecasts < 10) return "";
  const held = coverage90 !== null && 0.9 - coverage90 > 2 * Math.sqrt(0.09 / forecasts);
  const off = mape !== null && mape > WORSE * backtestMape;
  const reasons = [held && "its band contained less than 90 %", off && "its error grew"].filter(Boolean);
  return reasons.length ? `worse than in the backtest: ${reasons.join(" and ")}` : "";
}

/** How long a job takes in all, with its interval; or why that is unknown. */
export const runTimeText = (runTime: RunTime): string =>
  runTime.expected_s === null
    ? `cannot tell: ${runTime.lacks ?? "no similar jobs"}`
    : `${duration(runTime.expected_s)} in all (90 %: ${duration(runTime.low_s)} to ${duration(runTime.high_s)})`;

/** What it rests on, short enough for a row; or why there is nothing. */
export const restsOnText = (runTime: RunTime): string =>
  runTime.basis === null
    ? (runTime.lacks ?? "no similar jobs")
    : `${count(runTime.jobs)} longer jobs of the same ${inWords(runTime.basis)}`;

/** How often such an interval held on jobs that were forecast from those before them. */
export const heldText = ({ basis, tested, coverage90 }: RunTime): string =>
  basis === null ? "" : coverage90 === null ? "too few to test" : `${percent(coverage90)} of ${count(tested)}`;

/** Which inputs carry a forecast, in one line; none where the interval of each holds zero. */
export function restsText(rests: RestsOn): string {
  const sure = rests.inputs.filter((one) => one.verdict === "carries");
  const [first] = sure;
  if (!first) return `${rests.forecaster}: cannot tell, because no input adds more error than chance`;
  const others = sure.length > 1 ? `, and ${sure.length - 1} more` : "";
  return `${rests.forecaster}: first ${first.name} (+${first.increase.toFixed(1)} points)${others}`;
}
