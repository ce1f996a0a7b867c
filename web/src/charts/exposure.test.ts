import fc from "fast-check";
import { expect, test } from "vitest";
import { exposureLayout } from "./exposure";

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
