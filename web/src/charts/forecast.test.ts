import { expect, test } from "vitest";
import { forecastLayout, importanceLayout, rangesLayout, weightsLayout } from "./forecast";

const observed = { step: [0, 1, 2], time: [6, null, 7], usual: [6, 6, 6] };

test("the band stands right of the steps that have come and inside the picture", () => {
  const layout = forecastLayout(
    { ...observed, band: { step: [3, 4], expected: [7, 7.5], low: [6, 6], high: [9, 30] } },
    400,
    200,
  );
  expect(layout.x(3)).toBeGreaterThan(layout.x(2));
  expect(layout.x(4)).toBeLessThanOrEqual(392);
  expect(layout.y(30)).toBeGreaterThanOrEqual(8);
  // A step without a time is a break, not a zero.
  expect(layout.time.match(/M/g)).toHaveLength(2);
});

test("without a forecast nothing is drawn ahead", () => {
  const layout = forecastLayout({ ...observed, band: null }, 400, 200);
  expect([layout.expected, layout.spread]).toEqual(["", ""]);
});

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

test("only as many weights are numbered as there is room for, the newest among them", () => {
  const twenty = Array.from({ length: 20 }, () => ({ mean: 0.05, low: 0.04, high: 0.06 }));
  for (const width of [200, 370, 900]) {
    const numbered = weightsLayout(twenty, 44, width, 120).bars.filter((bar) => bar.labelled);
    expect(numbered.at(-1)?.step).toBe(-1);
    numbered.slice(1).forEach((bar, i) => expect(bar.x - (numbered[i]?.x ?? 0)).toBeGreaterThanOrEqual(26));
  }
  expect(weightsLayout(twenty, 44, 900, 120).bars.every((bar) => bar.labelled)).toBe(true);
});

test("a figure beyond every range still stands inside the picture", () => {
  const layout = rangesLayout(
    [
      { low: 10, middle: 20, high: 30 },
      { low: null, middle: null, high: null },
    ],
    90,
    100,
    400,
  );
  expect(layout.own).toBeGreaterThan((layout.bars[0]?.bar?.x ?? 0) + (layout.bars[0]?.bar?.width ?? 0));
  expect(layout.own).toBeLessThanOrEqual(390);
  // What is not known has no bar, not a bar of length zero.
  expect(layout.bars[1]).toMatchObject({ bar: null, middle: null });
});
