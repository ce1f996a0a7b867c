import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrange, cellsOf, outline } from "./arrange";
import { dragonfly } from "./testing";
import { panelText, tileAt, tileRect, tilesLayout } from "./tiles";

const machines = fc.record({
  groups: fc.integer({ min: 1, max: 40 }),
  rows: fc.integer({ min: 1, max: 6 }),
  cols: fc.integer({ min: 2, max: 16 }),
  width: fc.integer({ min: 400, max: 2400 }),
  height: fc.integer({ min: 300, max: 1600 }),
});

describe("tiles", () => {
  it("places every router inside the picture, none over another, and finds it again under the pointer", () => {
    fc.assert(
      fc.property(machines, ({ groups, rows, cols, width, height }) => {
        const arrangement = arrange(dragonfly(groups, rows, cols));
        const layout = tilesLayout(arrangement, width, height);
        const index = cellsOf(arrangement);
        for (let router = 0; router < groups * rows * cols; router++) {
          const { x, y, w, h } = tileRect(layout, arrangement, router);
          expect(x + w).toBeLessThanOrEqual(width);
          expect(y + h).toBeLessThanOrEqual(height);
          expect(tileAt(layout, arrangement, index, x + w / 2, y + h / 2)?.router).toBe(router);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("gives 34 groups at 1440 x 900 at least 6 x 9 pixels a router", () => {
    const { cellWidth, cellHeight } = tilesLayout(arrange(dragonfly(34, 6, 16)), 676, 615);
    expect(cellWidth).toBeGreaterThanOrEqual(6);
    expect(cellHeight).toBeGreaterThanOrEqual(9);
  });

  it.each([
    [4, 416, 400],
    [4, 676, 615],
    [4, 1100, 800],
    [8, 676, 615],
  ])("fills its panel with %s groups in %s x %s pixels", (groups, width, height) => {
    const arrangement = arrange(dragonfly(groups, 6, 16));
    const layout = tilesLayout(arrangement, width, height);
    const right = Math.max(
      ...arrangement.panelOf.map((_, router) => {
        const { x, w } = tileRect(layout, arrangement, router);
        return x + w;
      }),
    );
    expect(right / width).toBeGreaterThan(0.9);
  });

  it("says how much of a group is counted, and never a number for what is not", () => {
    const figures = { flits: 1, stalls: 2, ratio: 2, factor: 1.6, counted: 37, silent: 0, size: 96 };
    expect(panelText(figures, false)).toBe("2.0 · 37 of 96");
    expect(panelText({ ...figures, counted: 96 }, true)).toBe("×1.6");
    expect(panelText({ ...figures, counted: 0, ratio: NaN }, false)).toBe("not sampled");
    expect(panelText({ ...figures, counted: 0, silent: 4, ratio: NaN }, false)).toBe("silent");
  });
});

describe("outline", () => {
  const arrangement = arrange(dragonfly(2, 3, 4));
  const index = cellsOf(arrangement);
  it("closes around a set: each side has as many edges as the opposite one", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 23 })), (routers) => {
        const edges = outline(arrangement, index, new Set(routers));
        const sides = [0, 1, 2, 3].map((side) => edges.filter((edge) => edge.side === side).length);
        expect(sides[0]).toBe(sides[2]);
        expect(sides[1]).toBe(sides[3]);
      }),
    );
  });
  it("has four edges around one router and none between neighbours", () => {
    expect(outline(arrangement, index, new Set([5]))).toHaveLength(4);
    expect(outline(arrangement, index, new Set([5, 6]))).toHaveLength(6);
  });
});
