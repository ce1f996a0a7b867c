import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inputTime, parseInputTime } from "./time";

describe("a field for date and time", () => {
  it("gives back the second that it was filled with, in UTC", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), (second) => {
        expect(parseInputTime(inputTime(second * 1000))).toBe(second * 1000);
      }),
    );
  });
  it("knows a time without seconds, and an empty field", () => {
    expect(parseInputTime("2026-11-23T14:04")).toBe(Date.UTC(2026, 10, 23, 14, 4));
    expect(parseInputTime("")).toBeNull();
  });
});
