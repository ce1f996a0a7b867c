import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrange, cellsOf } from "./arrange";
import { chordAt, columnAngle, ringAt, ringLayout, sectorOf, shownChords } from "./ring";
import { dragonfly } from "./testing";

describe("ring", () => {
  it("finds under the pointer the router that it draws there", () => {
    const arrangement = arrange(dragonfly(15, 6, 16));
    const layout = ringLayout(arrangement, 700, 640);
    const index = cellsOf(arrangement);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1439 }), (router) => {
        const { a0, a1, r0, r1 } = sectorOf(layout, arrangement, router);
        const [angle, radius] = [(a0 + a1) / 2, (r0 + r1) / 2];
        expect(
          ringAt(
            layout,
            arrangement,
            index,
            layout.cx + Math.cos(angle) * radius,
            layout.cy + Math.sin(angle) * radius,
          ),
        ).toBe(router);
      }),
    );
    expect(ringAt(layout, arrangement, index, layout.cx, layout.cy)).toBeNull();
  });

  it("spends less than half of a router's width on the space next to it, on a phone too", () => {
    for (const groups of [9, 15, 34])
      for (const width of [300, 348, 500, 900]) {
        const arrangement = arrange(dragonfly(groups, 6, 16));
        const layout = ringLayout(arrangement, width, 600);
        const { a0, a1, r0 } = sectorOf(layout, arrangement, 0);
        expect(layout.space).toBeLessThanOrEqual(((a1 - a0) * r0) / 2);
      }
  });

  it("finds a chord where it is drawn, and none alongside it", () => {
    const layout = ringLayout(arrange(dragonfly(15, 6, 16)), 700, 640);
    const chord = {
      link: 7,
      src: 1,
      dst: 2,
      from: { panel: 0, column: 0 },
      to: { panel: 2, column: 0 },
      ratio: 3,
      factor: null,
    };
    const angle = columnAngle(layout, 0, 0.5);
    const start = [
      layout.cx + Math.cos(angle) * (layout.inner - 3),
      layout.cy + Math.sin(angle) * (layout.inner - 3),
    ] as const;
    expect(chordAt(layout, [chord], ...start)).toBe(chord);
    expect(chordAt(layout, [chord, { ...chord, link: 8 }], ...start)?.link).toBe(8);
    const away = columnAngle(layout, 1, 0.5);
    expect(
      chordAt(
        layout,
        [chord],
        layout.cx + Math.cos(away) * layout.inner * 0.95,
        layout.cy + Math.sin(away) * layout.inner * 0.95,
      ),
    ).toBeNull();
  });

  it("draws the hottest chords only and says where it cut", () => {
    const end = { panel: 0, column: 0 };
    const chords = Array.from({ length: 100 }, (_, i) => ({
      link: i,
      src: 0,
      dst: 0,
      from: end,
      to: end,
      ratio: i / 10,
      factor: null,
    }));
    const { shown, cut } = shownChords(chords, 30);
    expect(cut).toBe(8);
    expect(shown).toHaveLength(20);
    expect(shown.every((chord) => chord.ratio >= cut)).toBe(true);
    expect(shownChords(chords.slice(0, 5), 30)).toMatchObject({ cut: 0, shown: { length: 5 } });
  });
});
