import { expect, it } from "vitest";
import { thresholdLayout } from "./threshold";

it("keeps thresholds above all samples within the picture, and breaks the line where a value is unknown", () => {
  const layout = thresholdLayout(
    [
      { at: 0, value: 1 },
      { at: 60_000, value: NaN },
      { at: 120_000, value: 2 },
    ],
    [8, 4],
    { width: 300, height: 150 },
  );
  expect(layout.y(8)).toBeGreaterThanOrEqual(layout.top);
  expect(layout.y(0)).toBe(layout.bottom);
  expect(layout.path.match(/M/g)).toHaveLength(2);
  expect(layout.x(120_000)).toBe(layout.right);
});

it("is with a single sample of zero", () => {
  const layout = thresholdLayout([{ at: 5, value: 0 }], [null], { width: 300, height: 150 });
  expect(Number.isFinite(layout.y(0)) && Number.isFinite(layout.x(5))).toBe(true);
});
