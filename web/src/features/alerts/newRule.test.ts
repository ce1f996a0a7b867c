import { describe, expect, it } from "vitest";
import { freeName, levelOf, ruleOf } from "./newRule";

const samples = (...values: number[]) => values.map((value, i) => ({ at: i * 60_000, value }));

describe("a rule made from a chart", () => {
  it("fires above 95 % of what the chart shows, to two digits, and leaves unknown samples out", () => {
    const rising = samples(...Array.from({ length: 101 }, (_, i) => i / 10), NaN);
    expect(levelOf(rising)).toBe(9.5);
    expect(levelOf(samples(NaN, NaN))).toBeNull();
    expect(levelOf(samples(0, 0))).toBeNull();
  });

  it("has a name that the API takes and no other rule has", () => {
    expect(freeName("Stalls of perlis: g3 → g4", new Set())).toBe("stalls-of-perlis-g3-g4");
    expect(freeName("stalls perlis", new Set(["stalls-perlis", "stalls-perlis-2"]))).toBe("stalls-perlis-3");
    expect(freeName("→", new Set())).toBe("rule");
  });

  it("watches the chart's machine, or its application's forecasts with a probability", () => {
    const span = { from: 0, to: 1 };
    const stalls = ruleOf(
      { signal: "stall_ratio", where: { fabric: "perlis" }, samples: samples(2, 2), span },
      new Set(),
    );
    expect(stalls).toMatchObject({ name: "stalls-perlis", by: "machine", above: 2, probability: null });
    const slow = ruleOf({ signal: "slowdown", where: { exe: "/opt/bin/amg" }, samples: [], span }, new Set());
    expect(slow).toMatchObject({ name: "slow-amg", above: 1.2, probability: 0.8, where: { exe: "/opt/bin/amg" } });
  });
});
