import { expect, it } from "vitest";
import type { RunTime } from "../../api/estimateShapes";
import { endsSentence, endsText } from "./ends";

const now = Date.parse("2026-11-29T14:30:00Z");
const told = {
  ends: "2026-11-29T14:49:10Z",
  ends_low: "2026-11-29T14:47:00Z",
  ends_high: "2026-11-29T14:52:59Z",
  basis: "user, name, size",
  jobs: 39,
  lacks: null,
} as RunTime;

it("says a range for the end of a running job, and on what it rests", () => {
  expect(endsText(told, now)).toBe("14:47–14:52");
  expect(endsSentence(told, now)).toBe(
    "Ends about 14:49 UTC (14:47–14:52, 90 %), as 39 jobs of the same user, name and size that ran as long.",
  );
});

it("says that an end is unknown, and why", () => {
  const none = {
    ...told,
    ends: null,
    ends_low: null,
    ends_high: null,
    basis: null,
    lacks: "needs 19 similar completed jobs, has 4",
  };
  expect(endsText(none, now)).toBe("unknown");
  expect(endsText(null, now)).toBe("unknown");
  expect(endsSentence(none, now)).toBe("When it ends is unknown: needs 19 similar completed jobs, has 4.");
});
