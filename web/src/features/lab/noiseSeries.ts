/** Slowdown over the perturbation ratio: measured series and simulated ones on one pair of axes (State). Pure. */
import type { Measured, Simulated } from "../../api/noise";
import { bytes, count } from "../../lib/format";

export interface NoisePoint {
  ratio: number;
  slowdown: number | null;
  low: number | null;
  high: number | null;
}

export interface NoiseSeries {
  kind: "measured" | "simulated";
  name: string;
  points: NoisePoint[];
}

function grouped<T>(
  items: T[],
  name: (item: T) => string,
  point: (item: T) => NoisePoint,
  kind: NoiseSeries["kind"],
): NoiseSeries[] {
  const all = new Map<string, NoisePoint[]>();
  for (const item of items) {
    const list = all.get(name(item)) ?? [];
    list.push(point(item));
    all.set(name(item), list);
  }
  return [...all].map(([key, points]) => ({ kind, name: key, points: points.sort((a, b) => a.ratio - b.ratio) }));
}

/** Of each series the newest task's points; a series is what one legend entry of a figure is. */
export function noiseSeries(measured: Measured[], simulated: Simulated[]): NoiseSeries[] {
  const newest = new Map<string, number>();
  const key = (s: Simulated) => `${s.pattern} on ${s.topology}, ${s.routing}, ${count(s.endpoints)} endpoints`;
  for (const point of simulated) newest.set(key(point), Math.max(newest.get(key(point)) ?? 0, point.task_id));
  return [
    ...grouped(
      measured,
      (m) =>
        `${m.collective} ${bytes(m.collective_bytes)} beside ${bytes(m.perturbation_bytes)}, ${m.network}, ${count(m.world)} processes`,
      (m) => ({
        ratio: m.ratio,
        slowdown: m.slowdown,
        low: m.slowdown_quartiles?.[0] ?? m.slowdown_min,
        high: m.slowdown_quartiles?.[2] ?? m.slowdown_max,
      }),
      "measured",
    ),
    ...grouped(
      simulated.filter((s) => s.task_id === newest.get(key(s))),
      key,
      (s) => ({ ratio: s.ratio, slowdown: s.slowdown, low: s.ci95?.[0] ?? null, high: s.ci95?.[1] ?? null }),
      "simulated",
    ),
  ];
}
