import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CHANGE,
  changeColour,
  changeStep,
  fractionColour,
  HEAT,
  HEAT_CUTS,
  heatColour,
  heatStep,
  luminance,
  textOn,
} from "./scale";

const contrast = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

describe("stall scale", () => {
  it("cuts at one half and its doublings, each cut opening the next step", () => {
    expect(HEAT_CUTS.map(heatStep)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect([0, 0.49, 0.99, 31.9, 32, 1e9, Infinity].map(heatStep)).toEqual([0, 0, 1, 6, 7, 7, 7]);
  });

  it("begins where the API says that a port is stalled: one that waits for 40 % of its time and sends half of what it could has a colour", () => {
    expect(heatColour(0.4 / 0.5, "light")).not.toBe(HEAT.light[0]);
    expect(heatColour(0.02 / 0.95, "light")).toBe(HEAT.light[0]);
  });

  it("is one step higher for twice the stalls, within the scale", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.25, max: 15.9, noNaN: true }),
        (v) => heatStep(2 * v) === heatStep(v) + 1 || v < 0.25,
      ),
    );
  });

  it.each(["light", "dark"] as const)("has monotonic lightness and legible text in the %s theme", (theme) => {
    const lights = HEAT[theme].map(luminance);
    const sorted = [...lights].sort((a, b) => (theme === "light" ? b - a : a - b));
    expect(lights).toEqual(sorted);
    for (const colour of [...HEAT[theme], ...CHANGE[theme]])
      expect(contrast(luminance(colour), luminance(textOn(colour)))).toBeGreaterThan(4.1);
  });
});

describe("change scale", () => {
  it("is symmetric about no change", () => {
    fc.assert(
      fc.property(fc.double({ min: 1.26, max: 100, noNaN: true }), (f) => {
        fc.pre(![1.25, 2, 4].some((cut) => Math.abs(f - cut) < 1e-9));
        expect(changeStep(f) + changeStep(1 / f)).toBe(6);
      }),
    );
    expect(changeStep(1)).toBe(3);
  });

  it("has no colour for what is unknown", () => {
    for (const theme of ["light", "dark"] as const) {
      expect(CHANGE[theme]).not.toContain(changeColour(NaN, theme));
      expect(HEAT[theme]).not.toContain(heatColour(NaN, theme));
    }
  });
});

it("draws a larger fraction darker on light and lighter on dark, and clamps", () => {
  expect(fractionColour(0, "light")).toBe("rgb(220 220 220)");
  expect(fractionColour(2, "light")).toBe("rgb(10 10 10)");
  expect(fractionColour(1, "dark")).toBe("rgb(255 255 255)");
});
