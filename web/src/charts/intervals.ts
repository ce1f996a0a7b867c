/** Intervals on one scale (layout): a bar from low to high, a tick at the figure, a line where nothing changes. */
import { scaleLinear, scaleLog } from "d3-scale";

export interface Interval {
  middle: number;
  low: number | null;
  high: number | null;
}

export const BAR_WIDTH = 64;
const RANGE = [3, BAR_WIDTH - 3] as const;

export interface IntervalScale {
  (value: number): number;
  /** Of no change. */
  none: number;
}

const ends = (all: readonly Interval[]) =>
  all.flatMap(({ middle, low, high }) => [middle, low ?? middle, high ?? middle]);

/** Of ratios about 1: twice as fast is as far from the line as half as fast. */
export function ratioScale(all: readonly Interval[]): IntervalScale {
  const x = scaleLog()
    .domain([Math.min(1, ...ends(all)), Math.max(1, ...ends(all))])
    .range(RANGE);
  return Object.assign((value: number) => x(value), { none: x(1) });
}

/** Of amounts about 0. */
export function amountScale(all: readonly Interval[]): IntervalScale {
  const x = scaleLinear()
    .domain([Math.min(0, ...ends(all)), Math.max(0, ...ends(all))])
    .range(RANGE);
  return Object.assign((value: number) => x(value), { none: x(0) });
}

export function intervalLayout({ middle, low, high }: Interval, x: IntervalScale) {
  return {
    bar: low === null || high === null ? null : { x: x(low), width: Math.max(2, x(high) - x(low)) },
    tick: x(middle),
    none: x.none,
  };
}
