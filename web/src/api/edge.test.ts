import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { freshness, reach } from "./freshness";
import { decodeFrames } from "./queries";
import { routersShape } from "./shapes";

const headers = (frames: number, routers: number) =>
  new Headers({
    "x-frames": String(frames),
    "x-routers": String(routers),
    "x-from": "2026-11-21T14:00:00Z",
    "x-step-seconds": "60",
  });

describe("the edge", () => {
  it("decodes frames by their headers, unknown as NaN", () => {
    const body = Float32Array.of(1, NaN, 3, 4, 10, NaN, 30, 40).buffer;
    const { flits, stalls, stepMs, from } = decodeFrames(body, headers(2, 2));
    expect([...flits, ...stalls, stepMs, from]).toEqual([
      1,
      NaN,
      3,
      4,
      10,
      NaN,
      30,
      40,
      60_000,
      Date.UTC(2026, 10, 21, 14),
    ]);
  });
  it("refuses frames that are cut short", () => {
    expect(() => decodeFrames(new ArrayBuffer(31), headers(2, 2))).toThrow(/31 bytes/);
    expect(() => decodeFrames(new ArrayBuffer(0), new Headers())).toThrow();
  });
  it("refuses a column of another type and lets new keys pass", () => {
    const routers = {
      router: [0],
      name: ["r"],
      group: [null],
      row: [1],
      col: [2],
      level: [null],
      coords: null,
      nodes: [4],
      sampled: [true],
    };
    expect(v.safeParse(routersShape, { ...routers, hue: 7 }).success).toBe(true);
    expect(v.safeParse(routersShape, { ...routers, name: [3] }).success).toBe(false);
  });
});

describe("freshness", () => {
  const base = {
    fabric: { snapshot: false, recorded: false, last_ts: null },
    through: 1_000_000,
    movedAt: 1_001_000,
    connection: "open" as const,
    nextTryAt: null,
    now: 1_002_000,
    since: 0,
  };
  it("does not go back in time when a writer that fills in old data tells how far it is", () => {
    expect(reach(1_000, 5_000)).toBe(5_000);
    expect(reach(6_000, 5_000)).toBe(6_000);
    expect([reach(null, 5_000), reach(1_000, null), reach(null, null)]).toEqual([5_000, 1_000, null]);
  });
  it("is live while data move, stale when they stop or the connection is lost", () => {
    expect(freshness(base)).toMatchObject({ state: "live", text: "Live · 2 s behind" });
    expect(freshness({ ...base, now: 1_060_000 })).toMatchObject({ state: "stale", reason: "silence" });
    expect(freshness({ ...base, connection: "lost", nextTryAt: 9 })).toMatchObject({
      state: "stale",
      reason: "connection",
      nextTryAt: 9,
    });
  });
  it("calls one sample, and what ended long ago, a recording", () => {
    expect(freshness({ ...base, fabric: { snapshot: true, recorded: false, last_ts: null } }).state).toBe("recorded");
    expect(freshness({ ...base, movedAt: null, now: 1_000_000 + 3 * 86_400_000 }).state).toBe("recorded");
    expect(freshness({ ...base, through: null }).state).toBe("none");
  });
  it("awaits nothing of a recording that has just ended", () => {
    const fabric = { snapshot: false, recorded: true, last_ts: null };
    for (const now of [1_001_000, 1_120_000, 4_600_000])
      expect(freshness({ ...base, movedAt: null, fabric, now })).toMatchObject({ state: "recorded", reason: null });
    expect(freshness({ ...base, fabric, connection: "lost" }).state).toBe("stale");
  });
});
