/** Layouts of interval bars, run times against exposure, and a signal against its thresholds. */
import { max, median, min } from "d3-array";
import { scaleLinear, scaleLog, scaleSqrt } from "d3-scale";
import { line } from "d3-shape";
import { timeTicks } from "../lib/time";

// Run times against exposure to one name's jobs (layout): runs without any stand apart at the left, so that the two can be held together.

export interface ExposedRun {
  exposure: number;
  time: number;
}

export interface ExposureDot {
  run: number;
  x: number;
  y: number;
  exposed: boolean;
}

export interface ExposureLayout {
  dots: ExposureDot[];
  /** Pixels of a time and of an exposure above 0. */
  y: (time: number) => number;
  x: (exposure: number) => number;
  yTicks: number[];
  xTicks: number[];
  /** Median times without and with exposure, each over its own part. */
  medians: { x0: number; x1: number; y: number; value: number; exposed: boolean }[];
  /** Where the runs without exposure end. */
  split: number;
  bottom: number;
}

const [LEFT, RIGHT, TOP, BOTTOM] = [44, 12, 10, 36];
/** Share of the width for runs without exposure. */
const APART = 0.22;
/** A sequence that fills an interval evenly and is the same each time. */
const spread = (i: number) => (i * 0.6180339887498949) % 1;

export function exposureLayout(runs: ExposedRun[], width: number, height: number): ExposureLayout {
  const split = LEFT + (width - LEFT - RIGHT) * APART;
  const bottom = height - BOTTOM;
  const most = max(runs, (run) => run.exposure) ?? 0;
  const low = min(runs, (run) => run.time) ?? 0;
  const high = max(runs, (run) => run.time) ?? 1;
  const pad = (high - low || 1) * 0.08;
  const y = scaleLinear()
    .domain([Math.max(0, low - pad), high + pad])
    .nice(4)
    .range([bottom, TOP]);
  const x = scaleSqrt()
    .domain([0, most || 1])
    .range([split + 10, width - RIGHT]);
  const dots = runs.map(({ exposure, time }, run): ExposureDot => ({
    run,
    exposed: exposure > 0,
    y: y(time),
    x: exposure > 0 ? x(exposure) : LEFT + 8 + spread(run) * (split - LEFT - 18),
  }));
  const medians = [false, true].flatMap((exposed) => {
    const value = median(
      runs.filter((run) => run.exposure > 0 === exposed),
      (run) => run.time,
    );
    if (value === undefined) return [];
    return [{ exposed, value, y: y(value), x0: exposed ? split + 4 : LEFT, x1: exposed ? width - RIGHT : split - 4 }];
  });
  return {
    dots,
    medians,
    split,
    bottom,
    x,
    y,
    yTicks: y.ticks(4),
    xTicks: most > 0 ? x.ticks(4).filter((value) => value > 0) : [],
  };
}

// A signal over time against the thresholds of its rule (State and layout).

interface Sample {
  at: number;
  value: number;
}

export interface ThresholdLayout {
  from: number;
  to: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  x: (ms: number) => number;
  y: (value: number) => number;
  xTicks: number[];
  yTicks: number[];
  path: string;
}

/** Thresholds are always within the picture, whatever the samples are. */
export function thresholdLayout(
  samples: Sample[],
  thresholds: (number | null)[],
  { width, height }: { width: number; height: number },
): ThresholdLayout {
  const known = samples.filter((sample) => Number.isFinite(sample.value));
  const [left, right, top, bottom] = [44, width - 26, 8, height - 20];
  const from = samples[0]?.at ?? 0;
  const to = Math.max(from + 1, samples.at(-1)?.at ?? 1);
  const values = [...known.map((sample) => sample.value), ...thresholds.filter((one): one is number => one !== null)];
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(...values, 0) * 1.08 || 1])
    .range([bottom, top])
    .nice(4);
  const x = scaleLinear().domain([from, to]).range([left, right]);
  const path =
    line<Sample>()
      .defined((s) => Number.isFinite(s.value))
      .x((s) => x(s.at))
      .y((s) => y(s.value))(samples) ?? "";
  return {
    from,
    to,
    left,
    right,
    top,
    bottom,
    x,
    y,
    xTicks: timeTicks({ from, to }, Math.max(2, Math.floor(width / 90))),
    yTicks: y.ticks(4),
    path,
  };
}

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
