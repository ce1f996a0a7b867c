import { expect, test } from "vitest";
import { importanceLayout, weightsLayout } from "./importanceLayout";

test("zero is in the picture, regardless of what the inputs add", () => {
  for (const inputs of [
    [{ mean: 4, low: 3, high: 5 }],
    [{ mean: -1, low: -2, high: -0.5 }],
    [{ mean: 0, low: 0, high: 0 }],
  ]) {
    const layout = importanceLayout(inputs, 100, 400);
    expect(layout.x(0)).toBeGreaterThanOrEqual(100);
    expect(layout.x(0)).toBeLessThanOrEqual(386);
    expect(layout.ticks.every(Number.isFinite)).toBe(true);
  }
  const [row] = importanceLayout([{ mean: 4, low: 3, high: 5 }], 100, 400).rows;
  expect((row?.from ?? 0) < (row?.dot ?? 0) && (row?.dot ?? 0) < (row?.to ?? 0)).toBe(true);
});

test("bars of weights are on zero, end with the newest step, and do not overlap", () => {
  const layout = weightsLayout(
    [0.1, 0.2, 0.7].map((mean) => ({ mean, low: mean - 0.05, high: mean + 0.05 })),
    40,
    340,
    120,
  );
  expect(layout.bars.map((bar) => bar.step)).toEqual([-3, -2, -1]);
  for (const bar of layout.bars) expect(bar.y + bar.height).toBeCloseTo(layout.y(0));
  expect((layout.bars[0]?.x ?? 0) + (layout.bars[0]?.width ?? 0)).toBeLessThan(layout.bars[1]?.x ?? 0);
  expect(layout.even).toBeLessThan(layout.y(0));
  expect(weightsLayout([], 40, 340, 120).bars).toEqual([]);
});
