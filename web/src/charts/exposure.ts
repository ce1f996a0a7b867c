/** Run times against exposure to one name's jobs (layout): runs without any stand apart at the left, so that the two can be held together. */
import { max, median, min } from "d3-array";
import { scaleLinear, scaleSqrt } from "d3-scale";

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
