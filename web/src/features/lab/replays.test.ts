import { describe, expect, it } from "vitest";
import text from "../../../../docs/contracts/openapi.json?raw";
import { PATTERNS, PLACEMENTS, ROUTINGS, slowWindow } from "./replays";

const now = Date.parse("2026-03-02T12:00:00Z");

it("is the first five minutes of a slow stretch, or all of a shorter one, and a minute at least", () => {
  const since = "2026-03-02T11:00:00Z";
  expect(slowWindow(since, "2026-03-02T11:40:00Z", now)).toEqual({ at: "2026-03-02T11:05:00Z", window: 300 });
  expect(slowWindow(since, "2026-03-02T11:02:00Z", now)).toEqual({ at: "2026-03-02T11:02:00Z", window: 120 });
  expect(slowWindow(since, "2026-03-02T11:00:10Z", now)).toEqual({ at: "2026-03-02T11:01:00Z", window: 60 });
  expect(slowWindow("2026-03-02T11:58:00Z", null, now)).toEqual({ at: "2026-03-02T12:00:00Z", window: 120 });
});

const contract = JSON.parse(text);
const fields = contract.components.schemas.WhatIf.properties;

describe("choices of a replay", () => {
  it("are all that the contract names", () => {
    expect([...PATTERNS].sort()).toEqual([...fields.pattern.enum].sort());
    expect([...PLACEMENTS].sort()).toEqual([...fields.placements.items.enum].sort());
    expect([...new Set(Object.values(ROUTINGS).flat())].sort()).toEqual([...fields.routings.items.enum].sort());
  });

  it("offer a tree no routing of a dragonfly", () => {
    expect(ROUTINGS.fat_tree).not.toContain("adaptive0");
    expect(ROUTINGS.dragonfly).not.toContain("ftree");
  });
});
