import { describe, expect, it } from "vitest";
import { runVerdict } from "./steps";

const flat = (n: number, value: number) => Array.from({ length: n }, () => value);
const series = (time: (number | null)[], mean: number | null = 6) => ({
  step: time.map((_, i) => i + 1),
  time,
  mean: mean === null ? null : flat(time.length, mean),
  p10: flat(time.length, 5.5),
  p90: flat(time.length, 6.5),
  others: [],
});

describe("runVerdict", () => {
  it("names the step from which a run stayed above the range of others", () => {
    const found = runVerdict(series([...flat(20, 6), ...flat(10, 9)]));
    expect([found.slowFrom, found.slowFactor, found.factor]).toEqual([21, 1.5, 7 / 6]);
  });
  it("forgives a short peak and a stretch that ended", () => {
    expect(runVerdict(series([...flat(10, 6), ...flat(3, 9), ...flat(10, 6)])).slowFrom).toBeNull();
    expect(runVerdict(series([...flat(10, 9), ...flat(10, 6)])).slowFrom).toBeNull();
  });
  it("says nothing about what is usual without other runs", () => {
    expect(runVerdict({ ...series(flat(8, 6), null), p90: null })).toMatchObject({
      usual: null,
      factor: null,
      slowFrom: null,
    });
  });
  it("leaves unknown steps out", () => {
    expect(runVerdict(series([6, null, 6])).steps).toBe(2);
  });
});
