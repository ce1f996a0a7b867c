import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { passing } from "../../charts/timeline";
import { LONGEST_AXIS_MS, onGrid, PASSES_S, playedAt, playedFrom, SHORTEST_AXIS_MS, zoomed } from "./playback";

const HOUR = 3_600_000;
const span = { from: 100 * HOUR, to: 101 * HOUR };

describe("playing", () => {
  it("begins at the window, or again where that has come to the end or is elsewhere", () => {
    const inside = { from: span.from + 600_000, to: span.from + 1_200_000 };
    expect(playedFrom(inside, span)).toEqual(inside);
    for (const elsewhere of [
      { from: span.to - 600_000, to: span.to },
      { from: 0, to: 600_000 },
    ])
      expect(playedFrom(elsewhere, span)).toEqual({ from: span.from, to: span.from + 600_000 });
    expect(playedFrom(span, span).to).toBeLessThan(span.to);
  });
  it("passes the whole axis in the chosen seconds, with a window of one length that never leaves it", () => {
    const start = playedFrom({ from: span.to - 600_000, to: span.to }, span);
    fc.assert(
      fc.property(fc.constantFrom(...PASSES_S), fc.integer({ min: 0, max: 300_000 }), (pass, elapsed) => {
        const now = playedAt(start, span, elapsed, pass);
        expect(now.to - now.from).toBe(600_000);
        expect(now.to).toBeLessThanOrEqual(span.to);
        expect(now.from).toBeGreaterThanOrEqual(span.from);
        if (elapsed >= pass * 1000) expect(now.to).toBe(span.to);
        expect(playedAt(start, span, elapsed + 16, pass).to).toBeGreaterThanOrEqual(now.to);
      }),
    );
    expect(playedAt(start, span, 1000, 60).from).toBeCloseTo(span.from + HOUR / 60);
  });
  it("names the last event within the window, or none", () => {
    const marks = [1, 5, 8].map((hour) => ({ ts: hour * HOUR, text: `at ${hour}` }));
    expect(passing(marks, { from: 0, to: 6 * HOUR })?.text).toBe("at 5");
    expect(passing(marks, { from: 2 * HOUR, to: 4 * HOUR })).toBeNull();
  });
});

describe("zooming the axis", () => {
  it("keeps the moment under the pointer in its place, unless the newest data are in the way", () => {
    const at = span.from + HOUR / 4;
    const closer = zoomed(span, at, 0.5, span.to);
    expect(closer.to - closer.from).toBe(HOUR / 2);
    expect((at - closer.from) / (closer.to - closer.from)).toBeCloseTo(0.25);
    const wider = zoomed(span, at, 4, span.to);
    expect([wider.to, wider.to - wider.from]).toEqual([span.to, 4 * HOUR]);
  });
  it("has bounds, regardless of the wheel", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), fc.integer({ min: 0, max: HOUR }), (factor, at) => {
        const { from, to } = zoomed(span, span.from + at, factor, span.to);
        expect(to - from).toBeGreaterThanOrEqual(SHORTEST_AXIS_MS - 1000);
        expect(to - from).toBeLessThanOrEqual(LONGEST_AXIS_MS + 1000);
        expect(to).toBeLessThanOrEqual(span.to);
      }),
    );
  });
  it("puts windows on the grid without losing them", () => {
    expect(onGrid({ from: 12_345, to: 13_000 }, 10_000)).toEqual({ from: 10_000, to: 20_000 });
  });
});
