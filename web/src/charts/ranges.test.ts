import { expect, test } from "vitest";
import { rangesLayout } from "./ranges";

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
