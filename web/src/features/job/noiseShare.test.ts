import { expect, test } from "vitest";
import { shareText } from "./noiseShare";

test("a share in words, or the reason why there is none", () => {
  expect(shareText({ share: 0.25, of_s: 100, cannot_tell: null }, "the run time")).toMatch(/^25.?% of the run time$/);
  expect(shareText({ share: null, of_s: null, cannot_tell: "Ports count no latency." }, "the slowdown")).toBe(
    "Share of the slowdown: cannot tell. Ports count no latency.",
  );
});
