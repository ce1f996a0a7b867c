import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptySums, PrefixSums } from "./prefix";

const frames = fc.record({
  t: fc.integer({ min: 1, max: 12 }),
  r: fc.integer({ min: 1, max: 5 }),
  seed: fc.array(fc.option(fc.integer({ min: 0, max: 1000 }), { nil: NaN }), { minLength: 120, maxLength: 120 }),
});

describe("PrefixSums", () => {
  it("equals the plain sum of any whole window, with gaps as no coverage", () => {
    fc.assert(
      fc.property(frames, fc.nat(), fc.nat(), ({ t, r, seed }, i, j) => {
        const flits = Float32Array.from({ length: t * r }, (_, k) => seed[k % 120] ?? NaN);
        const stalls = flits.map((f) => f * 2);
        const sums = new PrefixSums({ from: 0, stepMs: 1000, frames: t, routers: r, flits, stalls });
        const first = i % t;
        const last = first + 1 + (j % (t - first));
        const out = emptySums(r);
        sums.window(first, last, out);
        for (let router = 0; router < r; router++) {
          let f = 0,
            known = 0;
          for (let k = first; k < last; k++) {
            const value = flits[k * r + router] ?? NaN;
            if (!Number.isNaN(value)) {
              f += value;
              known++;
            }
          }
          expect(out.flits[router]).toBeCloseTo(f, 6);
          expect(out.stalls[router]).toBeCloseTo(2 * f, 6);
          expect(out.coverage[router]).toBeCloseTo(known / (last - first), 6);
        }
      }),
    );
  });

  it("takes part of a frame for part of its time", () => {
    const sums = new PrefixSums({
      from: 0,
      stepMs: 1000,
      frames: 2,
      routers: 1,
      flits: Float32Array.of(10, 30),
      stalls: Float32Array.of(10, 90),
    });
    const out = emptySums(1);
    sums.window(...sums.range(500, 1500), out);
    expect([out.flits[0], out.stalls[0], out.coverage[0]]).toEqual([20, 50, 1]);
  });

  it("stays within what it holds", () => {
    const sums = new PrefixSums({
      from: 1000,
      stepMs: 1000,
      frames: 3,
      routers: 1,
      flits: new Float32Array(3),
      stalls: new Float32Array(3),
    });
    expect(sums.range(-5000, 99_000)).toEqual([0, 3]);
    expect(sums.covers(1000, 4000)).toBe(true);
    expect(sums.covers(1000, 9000)).toBe(false);
  });
});
