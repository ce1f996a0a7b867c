import fc from "fast-check";
import { expect, it } from "vitest";
import { cellAt, differenceStep, largest, matrixFrame, shade } from "./trafficMatrix";

it("shades more traffic darker, nothing as nothing", () => {
  expect(shade(0, 10)).toBe(0);
  expect(shade(10, 10)).toBe(1);
  fc.assert(
    fc.property(
      fc.double({ min: 1e-9, max: 1, noNaN: true }),
      fc.double({ min: 1e-9, max: 1, noNaN: true }),
      (a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(shade(low, 1)).toBeLessThanOrEqual(shade(high, 1));
        expect(shade(low, 1)).toBeGreaterThan(0);
      },
    ),
  );
});

it("tells too little from too much, symmetrically", () => {
  expect([-1, -0.05, -0.005, -1e-6, 0, 1e-6, 0.005, 0.05, 1].map((v) => differenceStep(v, 1))).toEqual([
    0, 1, 2, 3, 3, 3, 4, 5, 6,
  ]);
  expect(differenceStep(5, 0)).toBe(3);
});

it("finds the cell under the pointer", () => {
  const frame = matrixFrame(4, 128);
  expect(cellAt(frame, frame.left + 1.5 * frame.cell, frame.top + 2.5 * frame.cell)).toEqual({ column: 1, row: 2 });
  expect(cellAt(frame, 0, 0)).toBeNull();
  expect(
    largest([
      [1, null],
      [-7, 2],
    ]),
  ).toBe(7);
});
