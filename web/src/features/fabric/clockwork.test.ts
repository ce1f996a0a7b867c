import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fabricSearch, SPAN_MS } from "./address";
import { aroundMark, clockwork, comparisonOf, frameStepSeconds, neighbouring } from "./clockwork";

const edge = Date.UTC(2026, 10, 21, 14, 30, 3);

describe("clockwork", () => {
  it("follows the newest data until a window is chosen", () => {
    const live = clockwork({}, edge);
    expect([live.live, live.window.to, live.window.to - live.window.from]).toEqual([true, edge - 3000, 600_000]);
    expect(live.comparison).toEqual({ from: live.window.from - 600_000, to: live.window.from });
  });
  it("never moves a chosen window, nor its axis within ten minutes", () => {
    const search = fabricSearch({ from: "2026-11-21T14:04:00Z", to: "2026-11-21T14:14:00Z" });
    const [a, b] = [clockwork(search, edge), clockwork(search, edge + 240_000)];
    expect(b.window).toEqual(a.window);
    expect(b.span).toEqual(a.span);
    expect(a.live).toBe(false);
  });
  it("always shows the window on its axis", () => {
    fc.assert(
      fc.property(fc.integer({ min: -400_000, max: 100_000 }), fc.integer({ min: 10, max: 20_000 }), (ago, length) => {
        const from = edge + ago * 1000;
        const search = fabricSearch({
          from: new Date(from).toISOString(),
          to: new Date(from + length * 1000).toISOString(),
        });
        const { span, window } = clockwork(search, edge);
        expect(window.from).toBeGreaterThanOrEqual(span.from);
        expect(window.to).toBeLessThanOrEqual(span.to);
      }),
    );
  });
  it("asks for no more frames than the page may carry", () => {
    for (const routers of [96, 1440, 3264])
      for (const spanMs of Object.values(SPAN_MS)) {
        const frames = spanMs / 1000 / frameStepSeconds(spanMs, routers);
        expect(frames * routers * 8).toBeLessThanOrEqual(640_000);
        expect(frames).toBeGreaterThanOrEqual(12);
      }
  });
});

describe("the window alongside this one", () => {
  it("touches it, keeps its length and ends with the data", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -3_600_000, max: 3_600_000 }),
        fc.integer({ min: 10_000, max: 3_600_000 }),
        (ago, length) => {
          const window = { from: edge - ago - length, to: edge - ago };
          expect(neighbouring(window, -1, edge)).toEqual({ from: window.from - length, to: window.from });
          const later = neighbouring(window, 1, edge);
          if (ago <= 0) expect(later).toBeNull();
          else
            expect(later).toEqual({
              from: Math.min(edge, window.to + length) - length,
              to: Math.min(edge, window.to + length),
            });
        },
      ),
    );
  });
});

describe("what a window is compared with", () => {
  const window = { from: edge - 600_000, to: edge };
  it("moves with the window unless one was chosen", () => {
    expect(comparisonOf({}, window)).toEqual({ from: edge - 1_200_000, to: edge - 600_000 });
    expect(comparisonOf({ against: "hour" }, window)).toEqual({ from: edge - 4_200_000, to: edge - 600_000 });
    expect(comparisonOf({ against: "hour-ago" }, window)).toEqual({ from: edge - 4_200_000, to: edge - 3_600_000 });
    expect(
      comparisonOf({ against: "day-ago", cfrom: "2026-11-20T00:00:00Z", cto: "2026-11-20T00:10:00Z" }, window),
    ).toEqual({ from: Date.UTC(2026, 10, 20), to: Date.UTC(2026, 10, 20, 0, 10) });
  });
  it("is as long before a change as after it, and ends where the data do", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 7_200_000 }),
        fc.integer({ min: 60_000, max: 3_600_000 }),
        (ago, length) => {
          const { after, before } = aroundMark(edge - ago, length, edge);
          expect(after.from).toBe(before.to);
          expect(after.to - after.from).toBe(before.to - before.from);
          expect(after.to).toBeLessThanOrEqual(Math.max(edge, after.from + 60_000));
        },
      ),
    );
  });
});

describe("address", () => {
  it("keeps what it knows and drops what it does not", () => {
    expect(
      fabricSearch({
        view: "ring",
        class: "blue",
        router: "17",
        from: "x",
        to: "y",
        span: "9h",
        diff: "on",
        job: "12",
      }),
    ).toEqual({ view: "ring", class: "blue", router: 17, diff: "on", job: "12" });
    expect(fabricSearch({ from: "2026-11-21T14:14:00Z", to: "2026-11-21T14:04:00Z" })).toEqual({});
  });
});
