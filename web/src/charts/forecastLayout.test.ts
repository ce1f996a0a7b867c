import { expect, test } from "vitest";
import { forecastLayout } from "./forecastLayout";

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
