import { describe, expect, it, test } from "vitest";
import { paceOf, pageAfter, wallPages, whole } from "./wall";

test.each([
  ["/jobs/1234?embed", "/jobs/1234"],
  ["/jobs/1234?cluster=perlis&embed=1", "/jobs/1234?cluster=perlis"],
  ["/jobs/3_4?embed=&at=2026-11-25T10:00:00Z&cluster=a+%26+b", "/jobs/3_4?at=2026-11-25T10%3A00%3A00Z&cluster=a+%26+b"],
  ["/jobs", "/jobs"],
])("%s outside of a frame is %s", (address, expected) => {
  expect(whole(address)).toBe(expected);
});

describe("a wall display", () => {
  it("is what the address asks for, at a pace that can be read", () => {
    expect(["", "?machine=a", "?wall", "?wall=", "?wall=x", "?wall=60", "?wall=0", "?wall=1e9"].map(paceOf)).toEqual([
      null,
      null,
      30,
      30,
      30,
      60,
      5,
      3600,
    ]);
  });

  it("shows each page once in a turn, and only pictures that the machine has", () => {
    const kinds = { dragonfly: 7, torus: 6, fat_tree: 6 };
    for (const [kind, length] of Object.entries(kinds)) {
      const pages = wallPages({ name: "a b", kind, snapshot: false });
      expect(pages.length).toBe(length);
      const seen = new Set([0]);
      for (let at = pageAfter(pages, 0); at !== 0; at = pageAfter(pages, at)) seen.add(at);
      expect(seen.size).toBe(length);
      expect(pages[1]?.href).toMatch(/^\/fabric\/a%20b/);
    }
    expect(wallPages(null).length).toBe(1);
    expect(pageAfter(wallPages(null), -1)).toBe(0);
  });
});
