import { expect, test } from "vitest";
import { runTimeText } from "./runTimeText";

const told = { elapsed_s: 60, expected_s: 120, low_s: 90, high_s: 600, jobs: 40, rests_on: "40 jobs", lacks: null };

test("what is unknown is no figure", () => {
  expect(runTimeText(told)).toMatch(/in all \(90 %: .+ to .+\)/);
  const unknown = { ...told, expected_s: null, low_s: null, high_s: null, lacks: "needs 19 completed jobs" };
  expect(runTimeText(unknown)).toBe("cannot tell: needs 19 completed jobs");
});
