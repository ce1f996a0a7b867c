import { expect, test } from "vitest";
import { savedText } from "./saved";

test("what holding a job saves is the most that it can: it may end sooner on its own", () => {
  expect(savedText({ minutes_saved: 4.2, in_past: false, job_id: "7" })).toBe(
    "Saves up to 4 min 12 s, less if job 7 ends sooner.",
  );
});

test("what was lost is said as it is, and nothing if nothing is known or saved", () => {
  expect(savedText({ minutes_saved: 4.2, in_past: true, job_id: "7" })).toBe("Lost 4 min 12 s.");
  const known = { minutes_saved: 4.2, minutes_saved_low: 4, minutes_saved_high: 4.5, in_past: true, job_id: "7" };
  expect(savedText(known)).toBe("Lost 4 min 12 s (95 %: 4 min to 4 min 30 s).");
  expect(savedText({ minutes_saved: null, in_past: false, job_id: "7" })).toBeNull();
  expect(savedText({ minutes_saved: 0, in_past: false, job_id: "7" })).toBeNull();
});
