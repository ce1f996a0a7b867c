import { expect, test } from "vitest";
import { figureText, guidelineText, MOST, readSet, shareText } from "./noiseSets";

test("a set is numbers of runs, or job and numbers", () => {
  expect(readSet("1, 2 3")).toEqual({ runs: [1, 2, 3] });
  expect(readSet("job 41, 42_1")).toEqual({ jobs: ["41", "42_1"] });
  for (const wrong of [
    "",
    "  ",
    "job ",
    "a",
    "0",
    "-1",
    "1.5",
    Array(MOST + 1)
      .fill("7")
      .join(" "),
  ])
    expect(readSet(wrong)).toBeNull();
});

test("a figure has its interval, and chance is said", () => {
  const one = { key: "message_s", unit: "s", first: 1, second: 2, ratio: 2, low: 1.5, high: 2.5 } as const;
  expect(figureText({ ...one, verdict: "higher" })).toMatch(
    /^Modelled time of a message: 2\S* times \(1.5\S* to 2.5\S*\), higher$/,
  );
  expect(figureText({ ...one, verdict: "cannot tell" })).toContain("no difference beyond chance");
  expect(figureText({ ...one, ratio: null, low: null, high: null, verdict: "cannot tell" })).toBeNull();
  expect(guidelineText({ number: 1, holds: false, text: "Why." })).toBe("Guideline 1 does not hold. Why.");
  expect(guidelineText({ number: 3, holds: null, text: "Why." })).toContain("was not checked");
});

test("a share in words, or the reason why there is none", () => {
  expect(shareText({ share: 0.25, of_s: 100, cannot_tell: null }, "the run time")).toMatch(/^25.?% of the run time$/);
  expect(shareText({ share: null, of_s: null, cannot_tell: "Ports count no latency." }, "the slowdown")).toBe(
    "Share of the slowdown: cannot tell. Ports count no latency.",
  );
});
