import fc from "fast-check";
import { expect, it, test } from "vitest";
import { amountScale, BAR_WIDTH, exposureLayout, intervalLayout, ratioScale, thresholdLayout } from "./intervals";

const runs = fc.array(
  fc.record({
    exposure: fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 500, noNaN: true })),
    time: fc.double({ min: 1, max: 1e4, noNaN: true }),
  }),
  { minLength: 1, maxLength: 60 },
);

test("runs are on their side of the split, slower ones higher, all within the picture", () => {
  fc.assert(
    fc.property(runs, (list) => {
      const layout = exposureLayout(list, 400, 260);
      layout.dots.forEach(({ run, x, y, exposed }) => {
        expect(exposed).toBe((list[run]?.exposure ?? 0) > 0);
        expect(exposed ? x > layout.split : x < layout.split).toBe(true);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(layout.bottom);
      });
      const byTime = [...layout.dots].sort((a, b) => (list[a.run]?.time ?? 0) - (list[b.run]?.time ?? 0));
      byTime.slice(1).forEach((dot, i) => expect(dot.y).toBeLessThanOrEqual((byTime[i]?.y ?? 0) + 1e-6));
    }),
  );
});

test("a median is drawn for each side that has runs, and only for those", () => {
  expect(
    exposureLayout(
      [
        { exposure: 0, time: 10 },
        { exposure: 0, time: 30 },
      ],
      400,
      260,
    ).medians,
  ).toMatchObject([{ exposed: false, value: 20 }]);
  expect(
    exposureLayout(
      [
        { exposure: 0, time: 10 },
        { exposure: 4, time: 30 },
      ],
      400,
      260,
    ).medians.map((m) => m.value),
  ).toEqual([10, 30]);
});

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
