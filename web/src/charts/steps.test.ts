import { describe, expect, it } from "vitest";
import { isSilent, runVerdict, stepLine, stepsUntil } from "./steps";

it("draws a step that takes twice as long at twice the height, and the usual ones on the same scale", () => {
  const { time, usual, last } = stepLine([1, 2], [1, 1], 106, 26);
  expect(time).toBe("M3,13L103,3");
  expect(usual).toBe("M3,13L103,13");
  expect(last).toEqual([103, 3]);
});

it("leaves a gap where no other run has the step, and draws nothing of nothing", () => {
  expect(stepLine([1, 1, 1, 1], [1, null, 1, 1], 106, 26).usual.match(/M/g)).toHaveLength(2);
  expect(stepLine([], [], 106, 26)).toEqual({ time: "", usual: "", last: null });
});

const flat = (n: number, value: number) => Array.from({ length: n }, () => value);
const series = (time: (number | null)[], mean: number | null = 6) => ({
  step: time.map((_, i) => i + 1),
  time,
  mean: mean === null ? null : flat(time.length, mean),
  p10: flat(time.length, 5.5),
  p90: flat(time.length, 6.5),
  others: [],
});

it("calls the newest step now only while steps still come", () => {
  const ends = (until: number) => ({ end: () => 100_000, until });
  expect(isSilent(series([6, 6]), ends(159_000))).toBe(false);
  expect(isSilent(series([6, 6]), ends(161_000))).toBe(true);
  expect(isSilent(series([90, 6]), ends(300_000))).toBe(false);
  expect(isSilent(series([]), ends(300_000))).toBe(false);
  expect(isSilent(series([6, 6]), undefined)).toBe(false);
});

it("knows no step that ended after a moment", () => {
  const all = { ...series([6, 6, 9]), others: [{ label: "run 2", time: [5, 5, 5] }] };
  expect(stepsUntil(all, 1000, 13_000)).toEqual({ ...series([6, 6]), others: [{ label: "run 2", time: [5, 5] }] });
  expect(stepsUntil(all, 1000, 22_000)).toEqual(all);
  expect(stepsUntil(all, 1000, 2000).step).toEqual([]);
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
