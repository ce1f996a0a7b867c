import { expect, it } from "vitest";
import { amountScale, BAR_WIDTH, intervalLayout, ratioScale } from "./intervals";

const faster = { middle: 2, low: 1.5, high: 2.5 };
const slower = { middle: 0.5, low: 0.4, high: 0.6 };

it("puts all ratios on one scale about the line where nothing changes", () => {
  const x = ratioScale([faster, slower]);
  const [right, left] = [intervalLayout(faster, x), intervalLayout(slower, x)];
  expect(right.none).toBe(left.none);
  expect(right.tick - right.none).toBeCloseTo(left.none - left.tick);
  expect(right.bar?.x).toBeGreaterThan(right.none);
  expect((left.bar?.x ?? 0) + (left.bar?.width ?? 0)).toBeLessThan(left.none);
  for (const { bar } of [right, left]) {
    expect(bar?.x).toBeGreaterThanOrEqual(0);
    expect((bar?.x ?? 0) + (bar?.width ?? 0)).toBeLessThanOrEqual(BAR_WIDTH);
  }
});

it("keeps the line in the picture of what is all on one side of it", () => {
  for (const x of [ratioScale([faster]), amountScale([faster])]) {
    const { none, bar } = intervalLayout(faster, x);
    expect(none).toBeGreaterThan(0);
    expect(bar?.x).toBeGreaterThan(none);
  }
});

it("has no bar without an interval", () => {
  const alone = { middle: 1, low: null, high: null };
  const { bar, tick, none } = intervalLayout(alone, ratioScale([alone]));
  expect(bar).toBeNull();
  expect(tick).toBe(none);
});
