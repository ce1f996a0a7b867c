import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrange, cellsOf } from "./arrange";
import { ringAt, ringLayout, sectorOf, shownChords } from "./ring";
import { dragonfly } from "./testing";

describe("ring", () => {
  it("finds under the pointer the router that it draws there", () => {
    const arrangement = arrange(dragonfly(15, 6, 16));
    const layout = ringLayout(arrangement, 700, 640);
    const index = cellsOf(arrangement);
    fc.assert(fc.property(fc.integer({ min: 0, max: 1439 }), (router) => {
      const { a0, a1, r0, r1 } = sectorOf(layout, arrangement, router);
      const [angle, radius] = [(a0 + a1) / 2, (r0 + r1) / 2];
      expect(ringAt(layout, arrangement, index, layout.cx + Math.cos(angle) * radius, layout.cy + Math.sin(angle) * radius)).toBe(router);
    }));
    expect(ringAt(layout, arrangement, index, layout.cx, layout.cy)).toBeNull();
  });

  it("draws the hottest chords only and says where it cut", () => {
    const end = { panel: 0, column: 0 };
    const chords = Array.from({ length: 100 }, (_, i) => ({ from: end, to: end, ratio: i / 10, factor: null }));
    const { shown, cut } = shownChords(chords, 30);
    expect(cut).toBe(8);
    expect(shown).toHaveLength(20);
    expect(shown.every((chord) => chord.ratio >= cut)).toBe(true);
    expect(shownChords(chords.slice(0, 5), 30)).toMatchObject({ cut: 0, shown: { length: 5 } });
  });
});
