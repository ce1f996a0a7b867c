import { expect, it } from "vitest";
import { gainSaid, gainText, intervalText, parameterText, timeText, valueText } from "./words";

const gain = { factor: 1.42, low: 1.35, high: 1.49, level: 0.9, runs: 5, basis: "" };

it("says a gain with its interval, and none where the interval holds 1", () => {
  expect(gainText(gain)).toBe("×1.42 (1.35–1.49, 90 %)");
  expect(gainSaid(gain)).toBe("×1.42 as fast");
  expect(gainSaid({ ...gain, low: 0.97 })).toBe("No gain beyond chance");
  expect(gainSaid({ ...gain, factor: 0.8, low: 0.7, high: 0.9 })).toBe("Slower: ×0.80");
  expect(gainText({ ...gain, low: null, runs: 1 })).toBe("×1.42 (one pair of runs, no interval)");
  expect(intervalText(gain)).toBe("×1.35 to ×1.49, 90 %");
  expect([intervalText({ ...gain, low: null, runs: 1 }), intervalText(null)]).toEqual([
    "one pair of runs, no interval",
    "nothing was compared",
  ]);
  expect([gainText(null), gainSaid(null)]).toEqual(["–", "Time saved: not measured"]);
});

it("shows times of every size", () => {
  expect([timeText(0.0000215), timeText(0.00234), timeText(3.5), timeText(null)]).toEqual([
    "21.5 µs",
    "2.34 ms",
    "3.5 s",
    "–",
  ]);
});

it("shows the figure of a reason in units that can be read", () => {
  expect(valueText(420e9, "bytes")).toBe("391 GiB");
  expect([valueText(1.6234, "times"), valueText(12_345, null)]).toEqual(["1.62 times", "12,345"]);
});

it("says that service levels and lanes stay as they are", () => {
  expect([parameterText("sls", 0), parameterText("vls", 5), parameterText("lmc", 0)]).toEqual(["unchanged", "5", "0"]);
});
