/** Slowdown of collectives over an axis of choice: measured series and simulated ones on one pair of axes (State). Pure. */
import type { Fit, Measured, NotchedBox, Simulated } from "../../api/noise";
import { bytes, count } from "../../lib/format";

/** What grows to the right: the share of perturbing processes, the bytes of a perturbing message, or all processes. */
export type NoiseAxis = "ratio" | "bytes" | "processes";

export interface NoisePoint {
  x: number;
  slowdown: number | null;
  low: number | null;
  high: number | null;
}

export interface NoiseSeries {
  kind: "measured" | "simulated";
  name: string;
  points: NoisePoint[];
  /** The line through the splits over the ratio, with its 95 % interval. */
  fit: Fit | null;
}

export interface BoxPair {
  x: number;
  perturbed: NotchedBox | null;
  quiet: NotchedBox | null;
}

export interface BoxesOfSeries {
  name: string;
  pairs: BoxPair[];
}

const placeOf: Record<NoiseAxis, (m: Measured) => number> = {
  ratio: (m) => m.ratio,
  bytes: (m) => m.perturbation_bytes,
  processes: (m) => m.world,
};

/** All that does not grow to the right. */
function nameOf(m: Measured, axis: NoiseAxis): string {
  const parts = [
    axis === "bytes"
      ? `${m.collective} ${bytes(m.collective_bytes)}`
      : `${m.collective} ${bytes(m.collective_bytes)} alongside ${bytes(m.perturbation_bytes)}`,
    m.network,
  ];
  if (axis !== "processes") parts.push(`${count(m.world)} processes`);
  if (axis !== "ratio") parts.push(`ratio ${String(m.ratio)}`);
  return parts.join(", ");
}

function grouped<T, P extends { x: number }>(
  items: T[],
  name: (item: T) => string,
  point: (item: T) => P,
): [string, P[], T[]][] {
  const all = new Map<string, T[]>();
  for (const item of items) all.set(name(item), [...(all.get(name(item)) ?? []), item]);
  return [...all].map(([key, own]) => [key, own.map(point).sort((a, b) => a.x - b.x), own]);
}

const sameSeries = (fit: Fit, m: Measured): boolean =>
  fit.network === m.network &&
  fit.collective === m.collective &&
  fit.collective_bytes === m.collective_bytes &&
  fit.perturbation_bytes === m.perturbation_bytes &&
  fit.world === m.world;

/** Of each series the newest task's points; a series is what one legend entry of a figure is. Simulations know no bytes. */
export function noiseSeries(
  measured: Measured[],
  simulated: Simulated[],
  fits: Fit[] = [],
  axis: NoiseAxis = "ratio",
): NoiseSeries[] {
  const newest = new Map<string, number>();
  const key = (s: Simulated) =>
    axis === "processes"
      ? `${s.pattern} on ${s.topology.split(":")[0] ?? s.topology}, ${s.routing}, ratio ${String(s.ratio)}`
      : `${s.pattern} on ${s.topology}, ${s.routing}, ${count(s.endpoints)} endpoints`;
  for (const point of simulated) newest.set(key(point), Math.max(newest.get(key(point)) ?? 0, point.task_id));
  const mine = grouped(
    measured,
    (m) => nameOf(m, axis),
    (m): NoisePoint => ({
      x: placeOf[axis](m),
      slowdown: m.slowdown,
      low: m.slowdown_quartiles?.[0] ?? m.slowdown_min,
      high: m.slowdown_quartiles?.[2] ?? m.slowdown_max,
    }),
  ).map(([name, points, own]): NoiseSeries => {
    const fit = axis === "ratio" ? fits.find((one) => own[0] && sameSeries(one, own[0])) : undefined;
    return { kind: "measured", name, points, fit: fit ?? null };
  });
  const theirs = grouped(
    axis === "bytes" ? [] : simulated.filter((s) => s.task_id === newest.get(key(s))),
    key,
    (s): NoisePoint => ({
      x: axis === "ratio" ? s.ratio : s.endpoints,
      slowdown: s.slowdown,
      low: s.ci95?.[0] ?? null,
      high: s.ci95?.[1] ?? null,
    }),
  ).map(([name, points]): NoiseSeries => ({ kind: "simulated", name, points, fit: null }));
  return [...mine, ...theirs];
}

/** Times of single measurements, with and without perturbation side by side, by series. */
export function noiseBoxes(measured: Measured[], axis: NoiseAxis): BoxesOfSeries[] {
  return grouped(
    measured,
    (m) => nameOf(m, axis),
    (m): BoxPair => ({ x: placeOf[axis](m), perturbed: m.perturbed_box, quiet: m.quiet_box }),
  ).map(([name, pairs]) => ({ name, pairs }));
}

/** Whether the notches say that the medians differ with 95 % confidence; null if one is missing. */
export function mediansDiffer({ perturbed, quiet }: BoxPair): boolean | null {
  if (!perturbed || !quiet) return null;
  return perturbed.notch[0] > quiet.notch[1] || quiet.notch[0] > perturbed.notch[1];
}
