import { expect, it } from "vitest";
import type { IngestStatus } from "../../api/shapes";
import { lagOf, sharesOf, stepText } from "./Coverage";

const source = { source: "Packet samples", topics: ["a", "b"], records: [3, 0, 2, 0], dead: [0, 0, 1, 4] };

it("tells steps with records from those with refused ones and from empty ones", () => {
  expect(sharesOf(source)).toEqual(["whole", "none", "part", "part"]);
  expect(stepText(sharesOf(source), "complete")).toBe("1 of 4 steps are complete");
});

it("is as far behind as the last of its topics, and unknown where the log does not say", () => {
  const topics = [
    { topic: "a", lag_s: 1 },
    { topic: "b", lag_s: 7 },
    { topic: "c", lag_s: 90 },
  ] as IngestStatus["topics"];
  expect(lagOf(source.topics, topics)).toBe(7);
  expect(lagOf(["d"], topics)).toBeNull();
});
