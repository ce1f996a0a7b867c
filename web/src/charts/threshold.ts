/** A signal over time against the thresholds of its rule (State and layout). */
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { timeTicks } from "../lib/time";

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
