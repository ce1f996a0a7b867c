import { describe, expect, it } from "vitest";
import { arrange } from "./arrange";
import { NOT_SAMPLED, SILENT } from "./scale";
import { dragonfly } from "./testing";
import { panelFigures, routerWindow, sumsOf } from "./window";

const columns = (flits: (number | null)[], stalls: (number | null)[]) => ({
  router: flits.map((_, i) => i),
  flits,
  stall_cycles: stalls,
  coverage: flits.map((f) => (f === null ? null : 1)),
});

describe("routerWindow", () => {
  it("tells silence and absence from zero", () => {
    const window = routerWindow(sumsOf(4, columns([10, 0, null, null], [25, 0, null, null])), [
      true,
      true,
      true,
      false,
    ]);
    expect([...window.codes]).toEqual([3, 0, SILENT, NOT_SAMPLED]);
    expect([...window.ratio]).toEqual([2.5, 0, NaN, NaN]);
  });

  it("compares with another window by the factor of ratios", () => {
    const window = routerWindow(
      sumsOf(3, columns([10, 10, 10], [40, 10, 10])),
      [true, true, true],
      sumsOf(3, columns([10, 20, null], [10, 20, null])),
    );
    expect([...(window.factor ?? [])]).toEqual([4, 1, NaN]);
    expect([...window.codes]).toEqual([6, 3, SILENT]);
  });

  it("calls a change below half a stall per flit none, however many times it is", () => {
    const window = routerWindow(
      sumsOf(4, columns([100, 100, 100, 100], [4, 100, 60, 1])),
      [true, true, true, true],
      sumsOf(4, columns([100, 100, 100, 100], [1, 1, 1, 400])),
    );
    expect([...(window.factor ?? [])]).toEqual([1, 2, 1.2, 0.125]);
    expect([...window.codes]).toEqual([3, 5, 3, 0]);
  });

  it("ignores routers that the fabric does not have", () => {
    expect(sumsOf(1, { router: [7, -1], flits: [1, 1], stall_cycles: [1, 1], coverage: [1, 1] }).coverage[0]).toBe(0);
  });
});

it("sums stalls over summed flits for a group, never a mean of ratios", () => {
  const arrangement = arrange(dragonfly(1, 1, 2));
  const window = routerWindow(sumsOf(2, columns([100, 1], [100, 10])), [true, true]);
  expect(panelFigures(window, arrangement)[0]?.ratio).toBeCloseTo(110 / 101);
});
