import { expect, test } from "vitest";
import { whole } from "./embed";

test.each([
  ["/jobs/1234?embed", "/jobs/1234"],
  ["/jobs/1234?cluster=perlis&embed=1", "/jobs/1234?cluster=perlis"],
  ["/jobs/3_4?embed=&at=2026-11-25T10:00:00Z&cluster=a+%26+b", "/jobs/3_4?at=2026-11-25T10%3A00%3A00Z&cluster=a+%26+b"],
  ["/jobs", "/jobs"],
])("%s outside of a frame is %s", (address, expected) => {
  expect(whole(address)).toBe(expected);
});
