/** Counters of a job's own parts as rows over one time axis (layout). */
import { mean, quantile } from "d3-array";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { line } from "d3-shape";
import type { JobParts } from "../api/shapes";
import { parseTime, type TimeWindow } from "../lib/time";

/** Room beside and above the rows; the step times above leave the same at their sides. */
export interface Gutters {
  left: number;
  right: number;
  /** Height of a row. */
  row: number;
  /** Of it for its name and mean, where these stand above its curve. */
  head: number;
}

/** Names at the left and means at the right; on a phone above the curves, which have the width to themselves. */
export const WIDE: Gutters = { left: 132, right: 64, row: 62, head: 0 };
export const NARROW: Gutters = { left: 36, right: 8, row: 80, head: 20 };
/** A line is broken if nothing was counted for so many times the usual distance of two values. */
const BROKEN = 3;

export interface PartRow {
  key: string;
  label: string;
  unit: string;
  top: number;
  y: ScaleLinear<number, number>;
  ticks: number[];
  path: string;
  /** 10 to 90 % of the values before the onset. */
  usual: { y: number; height: number } | null;
  mean: number | null;
  /** Mean since the onset over the mean before it. */
  factor: number | null;
}

export function partRows(parts: JobParts, span: TimeWindow, onset: number | null, width: number, gutters: Gutters) {
  const { left, right, row: height, head } = gutters;
  const x = scaleLinear()
    .domain([span.from, span.to])
    .range([left, width - right]);
  const middle = parts.ts.map((ts) => (parseTime(ts) ?? 0) + parts.step_s * 500);
  const rows = parts.parts.map((one, i): PartRow => {
    const known = one.values.flatMap((value, at) => (value === null ? [] : [{ at: middle[at] ?? 0, value }]));
    const before = onset === null ? [] : known.filter((k) => k.at < onset).map((k) => k.value);
    const since = onset === null ? known.map((k) => k.value) : known.filter((k) => k.at >= onset).map((k) => k.value);
    const top = i * height;
    const y = scaleLinear()
      .domain([0, Math.max(...known.map((k) => k.value), 1e-9) * 1.05])
      .nice(2)
      .range([top + height - 10, top + head + 8]);
    const [low, high] = [quantile(before, 0.1), quantile(before, 0.9)];
    const [now, was] = [mean(since) ?? null, mean(before)];
    return {
      key: one.key,
      label: one.label,
      unit: one.unit,
      top,
      y,
      ticks: y.ticks(2),
      path: paths(known, x, y),
      usual: low === undefined || high === undefined ? null : { y: y(high), height: Math.max(2, y(low) - y(high)) },
      mean: now,
      factor: now !== null && was ? now / was : null,
    };
  });
  return { x, rows };
}

function paths(
  known: { at: number; value: number }[],
  x: (ms: number) => number,
  y: (value: number) => number,
): string {
  const distance = quantile(
    known.slice(1).map((k, i) => k.at - (known[i]?.at ?? 0)),
    0.5,
  );
  const pieces: (typeof known)[] = [];
  known.forEach((one, i) => {
    const last = known[i - 1];
    if (!last || one.at - last.at > BROKEN * (distance ?? 0)) pieces.push([]);
    pieces.at(-1)?.push(one);
  });
  const draw = line<{ at: number; value: number }>()
    .x((k) => x(k.at))
    .y((k) => y(k.value));
  return pieces.map((piece) => draw(piece) ?? "").join("");
}
