import { expect, it } from "vitest";
import type { Measured, Simulated } from "../../api/noise";
import { noiseSeries } from "./noiseSeries";

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

it("puts what was measured beside what was simulated, in the order of the ratio", () => {
  const series = noiseSeries(
    [measured(0.5, 2), measured(0.25, null)],
    [simulated(1, 0.5, 9), simulated(2, 0.5, 1.6), simulated(2, 0.25, 1.2)],
  );
  expect(series.map((one) => [one.kind, one.points.map((p) => [p.ratio, p.slowdown])])).toEqual([
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
  expect(series[0]?.name).toBe("allreduce 8 B beside 64 KiB, loopback, 16 processes");
  expect(series[0]?.points[0]).toMatchObject({ low: 1, high: 3 });
});
