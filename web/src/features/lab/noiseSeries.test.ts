import { expect, it } from "vitest";
import type { Measured, Simulated } from "../../api/noise";
import { mediansDiffer, noiseBoxes, noiseSeries } from "./noiseSeries";

const measured = (ratio: number, slowdown: number | null): Measured => ({
  network: "loopback",
  collective: "allreduce",
  collective_bytes: 8,
  perturbation_bytes: 65_536,
  world: 16,
  ratio,
  splits: 5,
  late: 0,
  perturbed_s: null,
  quiet_s: null,
  slowdown,
  slowdown_min: 1,
  slowdown_max: 3,
  slowdown_quartiles: null,
  imported_at: "",
  perturbed_box: null,
  quiet_box: null,
});
const boxed = (median: number, half: number) => ({
  least: median / 2,
  q1: median - 1,
  median,
  q3: median + 1,
  most: median * 2,
  notch: [median - half, median + half] as [number, number],
  measurements: 128,
});
const simulated = (task_id: number, ratio: number, slowdown: number): Simulated => ({
  task_id,
  study: null,
  series: "s",
  topology: "xgft",
  routing: "dmodk",
  pattern: "allreduce",
  semantics: "",
  endpoints: 128,
  ratio,
  runs: 9,
  slowdown,
  ci95: [slowdown - 0.1, slowdown + 0.1],
  finished_at: null,
});

it("puts measured next to simulated, in the order of the ratio", () => {
  const series = noiseSeries(
    [measured(0.5, 2), measured(0.25, null)],
    [simulated(1, 0.5, 9), simulated(2, 0.5, 1.6), simulated(2, 0.25, 1.2)],
  );
  expect(series.map((one) => [one.kind, one.points.map((p) => [p.x, p.slowdown])])).toEqual([
    [
      "measured",
      [
        [0.25, null],
        [0.5, 2],
      ],
    ],
    // Of a series that was simulated twice the newest task counts.
    [
      "simulated",
      [
        [0.25, 1.2],
        [0.5, 1.6],
      ],
    ],
  ]);
  expect(series[0]?.name).toBe("allreduce 8 B alongside 64 KiB, loopback, 16 processes");
  expect(series[0]?.points[0]).toMatchObject({ low: 1, high: 3 });
});

it("draws over message sizes or processes what else is the same, and fits lines over the ratio alone", () => {
  const fit = {
    ...{ network: "loopback", collective: "allreduce", collective_bytes: 8, perturbation_bytes: 65_536, world: 16 },
    ...{ splits: 9, slope: 2, slope_ci95: [1, 3] as [number, number], intercept: 1, band: [] },
  };
  const rows = [
    measured(0.5, 2),
    { ...measured(0.5, 4), perturbation_bytes: 1024 },
    { ...measured(0.5, 3), world: 64 },
  ];
  const over = (axis: "ratio" | "bytes" | "processes") => noiseSeries(rows, [simulated(1, 0.5, 9)], [fit], axis);
  expect(over("ratio").map((one) => one.fit?.slope ?? null)).toEqual([2, null, null, null]);
  expect(over("bytes").map((one) => [one.kind, one.points.map((p) => p.x)])).toEqual([
    ["measured", [1024, 65_536]],
    ["measured", [65_536]],
  ]);
  expect(over("processes").map((one) => one.points.map((p) => p.x))).toEqual([[16, 64], [16], [128]]);
  expect(over("bytes").every((one) => one.fit === null)).toBe(true);
  expect(noiseBoxes(rows, "processes").map((one) => one.pairs.length)).toEqual([2, 1]);
});

it("says by the notches whether medians differ", () => {
  expect(mediansDiffer({ x: 0, perturbed: boxed(20, 2), quiet: boxed(10, 2) })).toBe(true);
  expect(mediansDiffer({ x: 0, perturbed: boxed(12, 2), quiet: boxed(10, 2) })).toBe(false);
  expect(mediansDiffer({ x: 0, perturbed: null, quiet: boxed(10, 2) })).toBeNull();
});
