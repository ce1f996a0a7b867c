import { expect, it, test } from "vitest";
import { savedText, spanWindow } from "./texts";

test("what holding a job saves is the most that it can: it may end sooner on its own", () => {
  expect(savedText({ minutes_saved: 4.2, in_past: false, job_id: "7" })).toBe(
    "At the present speed, this saves up to 4 min 12 s, less if job 7 ends sooner.",
  );
  expect(savedText({ minutes_saved: 4.2, in_past: false, job_id: "7" }, "2026-11-29T14:35:40Z")).toBe(
    "At the speed of 14:35:40 UTC, this saves up to 4 min 12 s, less if job 7 ends sooner.",
  );
});

test("what was lost is said as it is, and nothing if nothing is known or saved", () => {
  expect(savedText({ minutes_saved: 4.2, in_past: true, job_id: "7" })).toBe("Lost 4 min 12 s.");
  const known = { minutes_saved: 4.2, minutes_saved_low: 4, minutes_saved_high: 4.5, in_past: true, job_id: "7" };
  expect(savedText(known)).toBe("Lost 4 min 12 s (95 %: 4 min to 4 min 30 s).");
  expect(savedText({ minutes_saved: null, in_past: false, job_id: "7" })).toBeNull();
  expect(savedText({ minutes_saved: 0, in_past: false, job_id: "7" })).toBeNull();
});

const at = (text: string) => Date.parse(text);

it("counts today from midnight, an hour and a week back from the newest minute", () => {
  const through = at("2026-11-29T14:30:20Z");
  expect(spanWindow("hour", through)).toEqual({ from: at("2026-11-29T13:31:00Z"), to: at("2026-11-29T14:31:00Z") });
  expect(spanWindow("today", through)).toEqual({ from: at("2026-11-29T00:00:00Z"), to: at("2026-11-29T14:31:00Z") });
  expect(spanWindow("week", through)).toEqual({ from: at("2026-11-22T14:31:00Z"), to: at("2026-11-29T14:31:00Z") });
});

it("has a minute of today at midnight", () => {
  const midnight = at("2026-11-29T00:00:00Z");
  expect(spanWindow("today", midnight)).toEqual({ from: midnight - 60_000, to: midnight });
});
