import { max, min } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { isKnown } from "../lib/format";
import { timeTicks } from "../lib/time";

// Steps of a run and the forecast of the next (layout): observed, usual, and the band ahead on one scale.

type Column = (number | null)[];

export interface ForecastSteps {
  step: number[];
  time: Column;
  usual: Column;
  band: { step: number[]; expected: Column; low: Column; high: Column } | null;
}

export function forecastLayout({ step, time, usual, band }: ForecastSteps, width: number, height: number) {
  const steps = [...step, ...(band?.step ?? [])];
  const values = [time, usual, band?.expected ?? [], band?.low ?? [], band?.high ?? []].flat().filter(isKnown);
  const [low, high] = [min(values) ?? 0, max(values) ?? 1];
  const floor = low > high * 0.4 ? low - (high - low) * 0.15 : 0;
  const first = min(steps) ?? 0;
  const x = scaleLinear()
    .domain([first, Math.max(max(steps) ?? 1, first + 1)])
    .range([44, width - 8]);
  const y = scaleLinear()
    .domain([floor, high + (high - floor) * 0.06 || 1])
    .nice(4)
    .range([height - 24, 8]);
  const draw = (at: number[], column: Column) =>
    line<number | null>()
      .defined(isKnown)
      .x((_, i) => x(at[i] ?? 0))
      .y((value) => y(value ?? 0))(column) ?? "";
  const spread = band
    ? (area<number>()
        .defined((i) => isKnown(band.low[i]) && isKnown(band.high[i]))
        .x((i) => x(band.step[i] ?? 0))
        .y0((i) => y(band.low[i] ?? 0))
        .y1((i) => y(band.high[i] ?? 0))(band.step.map((_, i) => i)) ?? "")
    : "";
  return {
    x,
    y,
    time: draw(step, time),
    usual: draw(step, usual),
    expected: band ? draw(band.step, band.expected) : "",
    spread,
    xTicks: x.ticks(8).filter(Number.isInteger),
    yTicks: y.ticks(4),
  };
}

// Inputs of a forecast (layout): a dot with its interval on one axis through zero; and bars of attention over the past steps.

export interface Interval {
  mean: number;
  low: number;
  high: number;
}

export const INPUT_ROW = 24;
const AXIS = 22;
/** Room for the number of a step, in pixels. */
const LABEL = 26;

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
  const every = Math.ceil(LABEL / wide);
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
      /** From the newest back, as many as there is room for. */
      labelled: (weights.length - 1 - i) % every === 0,
    })),
  };
}

// One figure held against several ranges (layout): a bar from the 10th to the 90th percentile, a tick at the median, a line at the figure.

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
