import { expect, it } from "vitest";
import { GAIN_WIDTH, gainLayout, gainScale } from "./gains";

const faster = { factor: 2, low: 1.5, high: 2.5 };
const slower = { factor: 0.5, low: 0.4, high: 0.6 };

it("puts all gains on one scale about the line where nothing changes", () => {
  const x = gainScale([faster, slower]);
  const [right, left] = [gainLayout(faster, x), gainLayout(slower, x)];
  expect(right.none).toBe(left.none);
  expect(right.tick - right.none).toBeCloseTo(left.none - left.tick);
  expect(right.bar?.x).toBeGreaterThan(right.none);
  expect((left.bar?.x ?? 0) + (left.bar?.width ?? 0)).toBeLessThan(left.none);
  for (const { bar } of [right, left]) {
    expect(bar?.x).toBeGreaterThanOrEqual(0);
    expect((bar?.x ?? 0) + (bar?.width ?? 0)).toBeLessThanOrEqual(GAIN_WIDTH);
  }
});

it("keeps the line in the picture of gains that are all on one side of it", () => {
  const { none, bar } = gainLayout(faster, gainScale([faster]));
  expect(none).toBeGreaterThan(0);
  expect(bar?.x).toBeGreaterThan(none);
});

it("has no bar for a gain without an interval", () => {
  const alone = { factor: 1, low: null, high: null };
  const { bar, tick, none } = gainLayout(alone, gainScale([alone]));
  expect(bar).toBeNull();
  expect(tick).toBe(none);
});
