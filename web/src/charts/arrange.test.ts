import { describe, expect, it } from "vitest";
import { arrange, cellsOf, type Machine, neighbour, selectPanels } from "./arrange";
import { dragonfly } from "./testing";

const plain = (part: Partial<Machine> & { size: number; kind: string }): Machine => {
  const none = () => Array.from({ length: part.size }, () => null);
  return {
    name: Array.from({ length: part.size }, (_, i) => `s${i}`),
    group: none(),
    row: none(),
    col: none(),
    level: none(),
    coords: null,
    nodes: none(),
    sampled: Array.from({ length: part.size }, () => false),
    ...part,
  };
};

describe("arrange", () => {
  it("gives a dragonfly one panel a group with its own rows and columns", () => {
    const { panels, rows, cols, rowOf, colOf } = arrange(dragonfly(3, 6, 16));
    expect(panels.map((p) => [p.label, p.rows, p.cols, p.routers.length])).toEqual([
      ["g0", 6, 16, 96],
      ["g1", 6, 16, 96],
      ["g2", 6, 16, 96],
    ]);
    expect([rows, cols, rowOf[20], colOf[20]]).toEqual([6, 16, 1, 4]);
  });

  it("keeps group numbers when one is missing, as on Edison", () => {
    const machine = dragonfly(3, 2, 2);
    machine.group = machine.group.map((g) => (g === 2 ? 13 : g));
    expect(arrange(machine).panels.map((p) => p.label)).toEqual(["g0", "g1", "g13"]);
  });

  it("gives a tree one panel a level, leaves first", () => {
    const machine = plain({ kind: "fat_tree", size: 7, level: [0, 0, 0, 0, 1, 1, 2] });
    expect(arrange(machine).panels.map((p) => [p.label, p.routers])).toEqual([
      ["leaf", [0, 1, 2, 3]],
      ["spine", [4, 5]],
      ["core", [6]],
    ]);
  });

  it("gives a torus one slice a plane", () => {
    const coords = Array.from({ length: 24 }, (_, i) => [i % 4, Math.floor(i / 4) % 3, Math.floor(i / 12)]);
    const { panels, noun } = arrange(plain({ kind: "torus", size: 24, coords }));
    expect([noun, panels.length, panels[0]?.rows, panels[0]?.cols]).toEqual(["slice", 2, 3, 4]);
  });

  it("cuts a torus across the axis that is asked for, and keeps a plane of two dimensions whole", () => {
    const coords = Array.from({ length: 24 }, (_, i) => [i % 4, Math.floor(i / 4) % 3, Math.floor(i / 12)]);
    const across = (axis: number) =>
      arrange(plain({ kind: "torus", size: 24, coords }), axis).panels.map((p) => [p.label, p.rows, p.cols]);
    expect(across(0)).toEqual(["x 0", "x 1", "x 2", "x 3"].map((label) => [label, 2, 3]));
    expect(across(1)).toEqual(["y 0", "y 1", "y 2"].map((label) => [label, 2, 4]));
    expect(
      arrange(plain({ kind: "torus", size: 12, coords: coords.slice(0, 12).map((c) => c.slice(0, 2)) })).panels.map(
        (p) => [p.label, p.rows, p.cols],
      ),
    ).toEqual([["all", 3, 4]]);
  });

  it("wraps routers without a place so that each has a cell of its own", () => {
    const arrangement = arrange(plain({ kind: "graph", size: 160 }));
    const filled = [...cellsOf(arrangement)].filter((r) => r >= 0);
    expect(new Set(filled).size).toBe(160);
    expect(arrangement.panels).toHaveLength(1);
  });

  it("does not stack routers that claim one place", () => {
    const machine = plain({
      kind: "dragonfly",
      size: 8,
      group: Array(8).fill(0),
      row: Array(8).fill(0),
      col: Array(8).fill(0),
    });
    expect([...cellsOf(arrange(machine))].filter((r) => r >= 0)).toHaveLength(8);
  });
});

describe("neighbour", () => {
  const arrangement = arrange(dragonfly(2, 2, 3));
  it("moves within a panel and over its edge to the next", () => {
    expect(neighbour(arrangement, 0, 0, 1)).toBe(1);
    expect(neighbour(arrangement, 2, 0, 1)).toBe(6);
    expect(neighbour(arrangement, 6, 0, -1)).toBe(2);
    expect(neighbour(arrangement, 3, 1, 0)).toBe(6);
  });
  it("stays at the ends of the machine", () => {
    expect(neighbour(arrangement, 0, 0, -1)).toBeNull();
    expect(neighbour(arrangement, 11, 1, 0)).toBeNull();
  });
});

it("selects panels and says which routers they hold", () => {
  const { arrangement, members } = selectPanels(arrange(dragonfly(4, 2, 2)), [1, 3]);
  expect(arrangement.panels.map((p) => p.label)).toEqual(["g1", "g3"]);
  expect([...members]).toEqual([4, 5, 6, 7, 12, 13, 14, 15]);
  expect(arrangement.panelOf[12]).toBe(1);
});
