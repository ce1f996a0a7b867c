/** One figure held against several ranges (layout): a bar from the 10th to the 90th percentile, a tick at the median, a line at the figure. */
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { timeTicks } from "../lib/time";

export interface Range {
  low: number | null;
  middle: number | null;
  high: number | null;
}

export const ROW = 30;

export function rangesLayout(ranges: Range[], own: number | null, left: number, width: number) {
  const most = max([...ranges.map((range) => range.high ?? range.middle ?? 0), own ?? 0]) ?? 0;
  const x = scaleLinear()
    .domain([0, most * 1.04 || 1])
    .range([left, width - 10]);
  return {
    x,
    ticks: timeTicks({ from: 1000, to: most * 1000 }, 5).map((ms) => ms / 1000),
    own: own === null ? null : x(own),
    height: ranges.length * ROW + 24,
    bars: ranges.map(({ low, middle, high }, i) => ({
      y: i * ROW + 4,
      bar: low === null || high === null ? null : { x: x(low), width: Math.max(2, x(high) - x(low)) },
      middle: middle === null ? null : x(middle),
    })),
  };
}
