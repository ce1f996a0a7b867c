import { expect, it } from "vitest";
import { slowWindow } from "./slowWindow";

const now = Date.parse("2026-03-02T12:00:00Z");

it("is the first five minutes of a slow stretch, or all of a shorter one, and a minute at least", () => {
  const since = "2026-03-02T11:00:00Z";
  expect(slowWindow(since, "2026-03-02T11:40:00Z", now)).toEqual({ at: "2026-03-02T11:05:00Z", window: 300 });
  expect(slowWindow(since, "2026-03-02T11:02:00Z", now)).toEqual({ at: "2026-03-02T11:02:00Z", window: 120 });
  expect(slowWindow(since, "2026-03-02T11:00:10Z", now)).toEqual({ at: "2026-03-02T11:01:00Z", window: 60 });
  expect(slowWindow("2026-03-02T11:58:00Z", null, now)).toEqual({ at: "2026-03-02T12:00:00Z", window: 120 });
});
