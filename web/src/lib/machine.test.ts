import { expect, test } from "vitest";
import { currentMachine } from "./machine";

const live = { name: "live", snapshot: false, last_ts: "2026-01-01T00:00:00Z" };
const sample = { name: "sample", snapshot: true, last_ts: null };
const wiring = { name: "wiring", snapshot: false, last_ts: null };

test("the machine shown first is the one that has most to say", () => {
  expect(currentMachine([wiring, sample, live], null)).toBe(live);
  expect(currentMachine([wiring, sample], null)).toBe(sample);
  expect(currentMachine([sample, live], "sample")).toBe(sample);
  expect(currentMachine([], "gone")).toBeNull();
});
