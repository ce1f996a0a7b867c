import { describe, expect, it } from "vitest";
import { axisText, bytes, change, cut, duration, fraction, lostTime, plural, ratio, si } from "./format";
import { intervalText, parseTime, timeTicks } from "./time";
import { csv } from "./tables";
import { stringifySearch, wholeNumber } from "./address";

describe("numbers", () => {
  it.each([
    [0, "0.0"],
    [-0.04, "0.0"],
    [-0.06, "−0.1"],
    [0.04, "0.04"],
    [0.005, "0.01"],
    [0.0049, "0.0049"],
    [0.0000182, "1.8e−5"],
    [0.096, "0.1"],
    [5.15, "5.2"],
    [9.94, "9.9"],
    [9.96, "10"],
    [1234.4, "1,234"],
    [null, "–"],
    [NaN, "–"],
    [Infinity, "–"],
  ])("ratio %s is %s", (value, text) => {
    expect(ratio(value)).toBe(text);
  });
  it.each([
    [36.6, "37 s"],
    [59.7, "1 min"],
    [348, "5 min 48 s"],
    [485, "8 min 05 s"],
    [3841, "1 h 04 min"],
    [null, "–"],
  ])("a loss of %s seconds is %s", (value, text) => {
    expect(lostTime(value)).toBe(text);
  });
  it.each([
    [2.9, "×2.9"],
    [1.2, "+20 %"],
    [1, "±0 %"],
    [0.93, "−7 %"],
    [0.5, "÷2.0"],
    [0, "−100 %"],
    [12, "×12"],
  ])("change %s is %s", (value, text) => {
    expect(change(value)).toBe(text);
  });
  it.each([
    [1.62e9, "/s", "1.62 G/s"],
    [999.6, "", "1.00 k"],
    [42, "", "42"],
    [4.4e6, "", "4.40 M"],
  ])("si %s", (value, unit, text) => {
    expect(si(value, unit)).toBe(text);
  });
  it.each([
    [3, "3 s"],
    [0.9, "0.9 s"],
    [240, "4 min"],
    [7500, "2 h 05 min"],
    [3600 * 76, "3 d 4 h"],
    [3600, "1 h"],
  ])("duration %s is %s", (value, text) => {
    expect(duration(value)).toBe(text);
  });
  it("keeps units apart and plurals right", () => {
    expect([
      bytes(212),
      bytes(2 ** 21),
      bytes(24.8e6),
      fraction(0.061),
      plural(1, "router"),
      plural(12, "router"),
    ]).toEqual(["212 B", "2.0 MiB", "24 MiB", "0.06", "1 router", "12 routers"]);
  });
});

describe("axes", () => {
  it.each([
    [
      [4, 6, 8, 10, 12],
      ["4", "6", "8", "10", "12"],
    ],
    [
      [0, 0.5, 1, 1.5],
      ["0.0", "0.5", "1.0", "1.5"],
    ],
    [
      [0, 1000, 2000],
      ["0", "1,000", "2,000"],
    ],
    [
      [-0.25, 0],
      ["−0.25", "0.00"],
    ],
  ])("labels %s alike", (ticks, texts) => {
    expect(ticks.map(axisText(ticks))).toEqual(texts);
  });
});

describe("time", () => {
  it("reads RFC 3339 and epoch seconds, and nothing else", () => {
    expect(parseTime("2026-11-21T02:30:00Z")).toBe(1795228200000);
    expect(parseTime("1795228200")).toBe(1795228200000);
    expect([parseTime("soon"), parseTime(""), parseTime(null)]).toEqual([null, null, null]);
  });
  it("writes an interval once, with the day only where it is another", () => {
    const from = Date.UTC(2026, 10, 21, 14, 4);
    expect(intervalText({ from, to: from + 600_000 }, from)).toBe("14:04–14:14");
    expect(intervalText({ from, to: from + 600_000 }, from + 86_400_000)).toBe("21 Nov 14:04–14:14");
  });
  it("ticks at round instants, no more than asked for", () => {
    const from = Date.UTC(2026, 10, 21, 14, 3);
    const ticks = timeTicks({ from, to: from + 3_600_000 }, 8);
    expect(ticks.length).toBeLessThanOrEqual(8);
    expect(ticks.every((t) => t % 600_000 === 0)).toBe(true);
  });
});

it("writes CSV that a spreadsheet reads as text, not as a formula", () => {
  expect(
    csv(
      ["a", "b"],
      [
        ['say "hi", twice', 1.5],
        ["=HYPERLINK(1)", null],
        ["x\ny", NaN],
      ],
    ),
  ).toBe('a,b\r\n"say ""hi"", twice",1.5\r\n\'=HYPERLINK(1),\r\n"x\ny",\r\n');
});

it("keeps addresses flat and short", () => {
  expect(stringifySearch({ from: "2026-11-21T02:30:00Z", job: "12,13", view: undefined, router: 7 })).toBe(
    "?from=2026-11-21T02:30:00Z&job=12,13&router=7",
  );
  expect([wholeNumber("12"), wholeNumber("-1"), wholeNumber("1e3"), wholeNumber("99999999999")]).toEqual([
    12,
    undefined,
    undefined,
    undefined,
  ]);
});

it("cuts a name to the letters that a picture has room for", () => {
  expect([cut("amg", 3), cut("amg-long", 4), cut("amg", 0)]).toEqual(["amg", "amg…", "…"]);
});
