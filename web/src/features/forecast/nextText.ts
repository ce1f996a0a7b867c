import type { Next } from "../../api/estimateShapes";
import { change, duration, plural } from "../../lib/format";

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
  const reasons = [held && "its band held less than 90 %", off && "its error grew"].filter(Boolean);
  return reasons.length ? `worse than in the backtest: ${reasons.join(" and ")}` : "";
}
