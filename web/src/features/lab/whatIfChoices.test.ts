import { describe, expect, it } from "vitest";
import text from "../../../../docs/contracts/openapi.json?raw";
import { PATTERNS, PLACEMENTS, ROUTINGS } from "./whatIfChoices";

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
