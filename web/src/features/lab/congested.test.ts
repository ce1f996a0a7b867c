import { expect, it } from "vitest";
import { congestedOf } from "./congested";

const study = (name: string, points: object[]) =>
  congestedOf({ name: "sim.study", args: { study: name, parameters: {} }, result: { points } });

it("leads a turn of the loop to the plots of its advice", () =>
  expect(congestedOf({ name: "routing.loop", args: {}, result: { recommendation_id: 3 } })).toEqual({ advice: 3 }));
it("has no plots of advice on a routing mode", () =>
  expect(congestedOf({ name: "routing.advice", args: {}, result: { recommendation_id: 3 } })).toBeNull());

it("has a grid for each case whose packets were sampled, an unknown fraction as unknown", () =>
  expect(
    study("taffet-minighost", [
      { mapping: "linear", strategy: "svaf", time_ms: 1.5, south_grid: null },
      { mapping: "tiled", strategy: "svaf", time_ms: 1.25, south_grid: [[0.5, null]] },
    ]),
  ).toEqual({ grids: [{ label: "tiled, svaf", rows: [[0.5, null]] }] }));

it("says why a run has none", () => {
  expect(study("hoefler-fig13", [{ slowdown: 2 }])).toEqual({ why: expect.stringMatching(/flows instead of packets/) });
  expect(study("taffet-pf3d", [])).toEqual({ why: expect.stringMatching(/roots/) });
  expect(study("wang-fig3", [])).toEqual({ why: "This run samples no packets." });
  expect(congestedOf({ name: "sim.whatif", args: {}, result: {} })).toEqual({ why: expect.stringMatching(/replay/) });
});

it("says nothing of a task that simulates no network", () =>
  expect(congestedOf({ name: "demo.count", args: {}, result: { to: 3 } })).toBeNull());
