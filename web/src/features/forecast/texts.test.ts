import { expect, it, test } from "vitest";
import { heldText, restsOnText, restsText, runTimeText, worseText } from "./texts";

it("says when a forecaster does worse than in its backtest, beyond chance", () => {
  expect(worseText({ forecasts: 60, coverage90: 0.67, mape: 16.9 }, 6)).toBe(
    "worse than in the backtest: its band contained less than 90 % and its error grew",
  );
  expect(worseText({ forecasts: 60, coverage90: 0.86, mape: 6.2 }, 6)).toBe("");
  expect(worseText({ forecasts: 3, coverage90: 0.67, mape: 16.9 }, 6)).toBe("");
});

const runTime = {
  elapsed_s: 60,
  expected_s: 120,
  low_s: 90,
  high_s: 600,
  ends: "2026-11-29T14:02:00Z",
  ends_low: "2026-11-29T14:01:30Z",
  ends_high: "2026-11-29T14:10:00Z",
  basis: "name, size",
  jobs: 40,
  tested: 100,
  coverage90: 0.914,
  rests_on: "40 jobs",
  lacks: null,
};

test("what is unknown is no figure", () => {
  expect(runTimeText(runTime)).toMatch(/in all \(90 %: .+ to .+\)/);
  const unknown = {
    ...runTime,
    expected_s: null,
    low_s: null,
    high_s: null,
    lacks: "needs 19 similar completed jobs",
    basis: null,
  };
  expect(runTimeText(unknown)).toBe("cannot tell: needs 19 similar completed jobs");
  expect(restsOnText(unknown)).toBe("needs 19 similar completed jobs");
  expect(heldText(unknown)).toBe("");
});

test("a row says in short what a time rests on, and how often such intervals held", () => {
  expect(restsOnText(runTime)).toBe("40 longer jobs of the same name and size");
  expect(heldText(runTime)).toBe("91 % of 100");
  expect(heldText({ ...runTime, coverage90: null })).toBe("too few to test");
});

const input = (name: string, verdict: string) => ({
  name,
  meaning: "",
  features: [name],
  increase: 2,
  low: verdict === "carries" ? 1 : -1,
  high: 3,
  verdict,
});
const rests = (...inputs: ReturnType<typeof input>[]) => ({
  forecaster: "ridge",
  mape: 9,
  learned: 60,
  runs: 40,
  inputs,
  weights: [],
});

test("an input whose interval holds zero is never named", () => {
  expect(restsText(rests(input("A", "cannot tell"), input("B", "not used")))).toContain("cannot tell");
  const said = restsText(rests(input("A", "cannot tell"), input("B", "carries"), input("C", "carries")));
  expect(said).toBe("ridge: first B (+2.0 points), and 1 more");
});
