import { describe, expect, it, test } from "vitest";
import type { Explanation } from "../../api/estimateShapes";
import type { Root, Victim } from "../../api/roots";
import { afterOnset, treeRows } from "./roots";

const victim = (link: number, behind: number, distance: number, stalls: number): Victim => ({
  link,
  behind,
  distance,
  src: link,
  dst: link + 1,
  src_name: `a${link}`,
  dst_name: `b${link}`,
  utilisation: 0.5,
  stalls_per_flit: stalls,
  congested_fraction: null,
});
const root = (victims: Victim[]): Root => ({
  ...victim(1, 0, 0, 0),
  cause: "full-link",
  confidence: 0.9,
  advice: "",
  victims,
  victims_total: victims.length,
  jobs: [],
  jobs_unknown_because: null,
});

describe("treeRows", () => {
  it("puts each link after the one that it waits for, the worst branch first", () => {
    const rows = treeRows(root([victim(2, 1, 1, 3), victim(3, 1, 1, 9), victim(4, 2, 2, 5), victim(5, 3, 2, 1)]));
    expect(rows.map((one) => one.link)).toEqual([3, 5, 2, 4]);
  });

  it("keeps every link once, also where links wait in a circle or for one that is not listed", () => {
    const rows = treeRows(root([victim(2, 3, 2, 1), victim(3, 2, 2, 1), victim(4, 9, 3, 1), victim(1, 4, 4, 1)]));
    expect(rows.map((one) => one.link).sort()).toEqual([2, 3, 4]);
    expect(treeRows(root([]))).toEqual([]);
  });
});

const explanationOf = (from: string | null, to: string | null) => ({ root_from: from, root_to: to }) as Explanation;

test("the root is looked for in the minute that the explanation names", () => {
  const to = Date.parse("2026-11-02T14:01:10Z");
  expect(afterOnset(explanationOf("2026-11-02T14:00:10Z", "2026-11-02T14:01:10Z"))).toEqual({
    at: to,
    windowMs: 60_000,
  });
  expect(afterOnset(explanationOf("2026-11-02T14:00:40Z", "2026-11-02T14:01:10Z"))).toEqual({
    at: to,
    windowMs: 30_000,
  });
});

test("there is none before there is an explanation, nor where it names none", () => {
  expect(afterOnset(undefined)).toBeNull();
  expect(afterOnset(explanationOf(null, null))).toBeNull();
});
