import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dragged, gripAt, timelineLayout } from "./timeline";

const span = { from: 0, to: 3_600_000 };
const ms = fc.integer({ min: -500_000, max: 4_000_000 });

describe("dragging the window", () => {
  it("keeps it inside the span, in order and at least one step long", () => {
    fc.assert(
      fc.property(fc.constantFrom("new", "move", "from", "to" as const), ms, ms, (grip, start, now) => {
        const { from, to } = dragged(
          grip as "new",
          { from: 600_000, to: 1_200_000 },
          Math.max(0, start),
          now,
          span,
          10_000,
        );
        expect(to - from).toBeGreaterThanOrEqual(10_000);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(span.to + 10_000);
      }),
    );
  });
  it("moves without changing its length, and takes an end that is near", () => {
    const window = { from: 600_000, to: 1_200_000 };
    expect(dragged("move", window, 700_000, 800_000, span, 10_000)).toEqual({ from: 700_000, to: 1_300_000 });
    expect([605_000, 1_195_000, 900_000, 100_000].map((at) => gripAt(window, at, 20_000))).toEqual([
      "from",
      "to",
      "move",
      "new",
    ]);
    expect(gripAt(null, 5, 1)).toBe("new");
  });
});

it("breaks the line if nothing is known and hides marks that would overlap", () => {
  const layout = timelineLayout(
    { ts: [0, 1, 2, 3].map((i) => i * 900_000), stepMs: 900_000, p50: [1, null, 1, 1], p95: [2, null, 3, 2] },
    [
      { ts: 100_000, text: "a long text of a mark" },
      { ts: 110_000, text: "another" },
      { ts: 9e9, text: "outside" },
    ],
    span,
    { left: 40, right: 1000, top: 10, bottom: 90 },
  );
  expect(layout.high.match(/M/g)).toHaveLength(2);
  expect(layout.marks.map((mark) => mark.shown)).toEqual([false, true]);
});
