import { expect, it } from "vitest";
import { usualTime, wholeText } from "./usual";

const kin = (basis: string, jobs: number, p50_s: number | null) => ({
  basis,
  jobs,
  p10_s: p50_s,
  p50_s,
  p90_s: p50_s,
  longer: null,
});

it("compares with the closest kin with enough runs", () => {
  const past = [kin("user, name, size", 2, 10), kin("name, size", 9, 100), kin("user, size", 40, 500)];
  expect(usualTime({ state: "COMPLETED", elapsed_s: 150 }, past)).toMatchObject({
    basis: "name, size",
    runs: 9,
    median: 100,
    factor: 1.5,
  });
});

it("does not call a running job fast, nor guess from two", () => {
  const past = [kin("user, name, size", 3, 100)];
  expect(usualTime({ state: "RUNNING", elapsed_s: 20 }, past).factor).toBeNull();
  expect(usualTime({ state: "RUNNING", elapsed_s: 200 }, past).factor).toBe(2);
  expect(usualTime({ state: "COMPLETED", elapsed_s: 50 }, [kin("user, name, size", 2, 100)])).toMatchObject({
    runs: 2,
    median: null,
    factor: null,
  });
});

it("says why a slow job took no longer than usual", () => {
  expect(wholeText(1.4, { factor: 314 / 359 })).toMatch(/13 % less than the usual time: only these steps are slow/);
  expect(wholeText(1.4, { factor: 1.3 }) + wholeText(1.4, { factor: null }) + wholeText(1, { factor: 0.9 })).toBe("");
});
