import { describe, expect, it } from "vitest";
import type { Root, Victim } from "../api/roots";
import { treeRows } from "./rootTree";

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
