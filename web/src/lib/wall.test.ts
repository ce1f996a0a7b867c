import { describe, expect, it } from "vitest";
import { pageAfter, paceOf, wallPages } from "./wall";

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
