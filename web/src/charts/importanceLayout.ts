/** Inputs of a forecast (layout): a dot with its interval on one axis through zero; and bars of attention over the past steps. */
import { max, min } from "d3-array";
import { scaleLinear } from "d3-scale";

export interface Interval {
  mean: number;
  low: number;
  high: number;
}

export const INPUT_ROW = 24;
const AXIS = 22;

export function importanceLayout(inputs: Interval[], left: number, width: number) {
  const [least, most] = [min(inputs, (one) => one.low) ?? 0, max(inputs, (one) => one.high) ?? 0];
  const x = scaleLinear()
    .domain([Math.min(0, least), Math.max(most, 0.1)])
    .nice(4)
    .range([left, width - 14]);
  return {
    x,
    ticks: x.ticks(4),
    height: inputs.length * INPUT_ROW + AXIS,
    rows: inputs.map(({ mean, low, high }, i) => ({
      y: i * INPUT_ROW + INPUT_ROW / 2,
      dot: x(mean),
      from: x(low),
      to: x(high),
    })),
  };
}

/** Bars of weights that sum to one; the last step is the newest. */
export function weightsLayout(weights: Interval[], left: number, width: number, height: number) {
  const even = 1 / Math.max(1, weights.length);
  const y = scaleLinear()
    .domain([0, Math.max(even * 1.5, max(weights, (one) => one.high) ?? 0)])
    .nice(3)
    .range([height - AXIS, 8]);
  const wide = (width - left - 14) / Math.max(1, weights.length);
  return {
    y,
    ticks: y.ticks(3),
    even: y(even),
    bars: weights.map(({ mean, low, high }, i) => ({
      x: left + i * wide,
      width: Math.max(1, wide - 3),
      y: y(mean),
      height: y(0) - y(mean),
      from: y(low),
      to: y(high),
      /** -1 is the newest step. */
      step: i - weights.length,
    })),
  };
}
