import { expect, it } from "vitest";
import { worseText } from "./nextText";

it("says when a forecaster does worse than in its backtest, beyond chance", () => {
  expect(worseText({ forecasts: 60, coverage90: 0.67, mape: 16.9 }, 6)).toBe(
    "worse than in the backtest: its band held less than 90 % and its error grew",
  );
  expect(worseText({ forecasts: 60, coverage90: 0.86, mape: 6.2 }, 6)).toBe("");
  expect(worseText({ forecasts: 3, coverage90: 0.67, mape: 16.9 }, 6)).toBe("");
});
