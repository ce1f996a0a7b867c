import { describe, expect, it } from "vitest";
import { hottestPairs, matrixAt, matrixLayout, matrixRect, pairCodes, pairsOf } from "./matrix";
import { NOT_SAMPLED } from "./scale";

const pairs = pairsOf([5, 6, 13], {
  src: [5, 5, 6, 9, 6],
  dst: [6, 13, 5, 5, 6],
  flits: [10, 10, 0, 1, 3],
  stall_cycles: [100, 20, 0, 1, 3],
});

describe("group matrix", () => {
  it("puts the sender in the column and the receiver in the row", () => {
    expect(pairs.cells[1 * 3 + 0]).toMatchObject({ src: 5, dst: 6, ratio: 10 });
    expect(pairs.cells[2 * 3 + 0]?.ratio).toBe(2);
    expect(pairs.cells[0 * 3 + 1]?.ratio).toBe(0);
  });
  it("leaves out unknown groups and the diagonal, and shows pairs without a counter as such", () => {
    expect(hottestPairs(pairs).map((p) => [p.src, p.dst])).toEqual([
      [5, 6],
      [5, 13],
      [6, 5],
    ]);
    const codes = pairCodes(pairs, false);
    expect(codes[0]).toBe(255);
    expect(codes[1 * 3 + 2]).toBe(NOT_SAMPLED);
  });
  it("compares with the same pair of the other window", () => {
    const compared = pairsOf(
      [5, 6],
      { src: [5, 6], dst: [6, 5], flits: [1, 1], stall_cycles: [4, 4] },
      { src: [5], dst: [6], flits: [2], stall_cycles: [4] },
    );
    expect([compared.cells[2]?.factor, compared.cells[1]?.factor]).toEqual([2, NaN]);
  });
  it("finds under the pointer the cell that it draws there", () => {
    const layout = matrixLayout(34, 308);
    const { x, y, w } = matrixRect(layout, 34, 7 * 34 + 20);
    expect(matrixAt(layout, 34, x + w / 2, y + 1)).toEqual({ column: 20, row: 7 });
    expect(matrixAt(layout, 34, 1, 1)).toBeNull();
  });
});
