/** Gains with their intervals on one scale (layout): a bar from low to high, a tick at the factor, a line where nothing changes. */
import { scaleLog } from "d3-scale";

export interface GainRange {
  factor: number;
  low: number | null;
  high: number | null;
}

export const GAIN_WIDTH = 88;
const INSET = 3;

/** Twice as fast is as far from the line as half as fast. */
export function gainScale(gains: readonly GainRange[]): (factor: number) => number {
  const values = gains.flatMap(({ factor, low, high }) => [factor, low ?? factor, high ?? factor]);
  return scaleLog()
    .domain([Math.min(1, ...values), Math.max(1, ...values)])
    .range([INSET, GAIN_WIDTH - INSET]);
}

export function gainLayout({ factor, low, high }: GainRange, x: (factor: number) => number) {
  return {
    bar: low === null || high === null ? null : { x: x(low), width: Math.max(2, x(high) - x(low)) },
    tick: x(factor),
    none: x(1),
  };
}
