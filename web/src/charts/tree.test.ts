import { describe, expect, it } from "vitest";
import type { Machine } from "./arrange";
import { switchAt, treeLayout, treeOf } from "./tree";

// Two leaves and two spines, all connected, both ways; leaf 0 - spine 2 has two cables.
const links = { link: [0, 1, 2, 3, 4, 5, 6], src: [0, 2, 0, 2, 1, 3, 0], dst: [2, 0, 2, 0, 3, 1, null] };
const machine: Machine = {
  kind: "fat_tree", size: 4, name: ["l0", "l1", "s0", "s1"], group: [null, null, null, null], row: [null, null, null, null], col: [null, null, null, null],
  level: [0, 0, 1, 1], coords: null, nodes: [2, 2, 0, 0], sampled: [false, false, false, false],
};

describe("tree", () => {
  it("joins parallel cables and keeps up and down apart", () => {
    const { edges } = treeOf(machine, links, { link: [0, 3], flits: [10, 20], stall_cycles: [30, 20] });
    const edge = edges.find((e) => e.lower === 0 && e.upper === 2);
    expect(edge?.up).toEqual({ links: 2, counted: 1, flits: 10, stalls: 30 });
    expect(edge?.down).toEqual({ links: 2, counted: 1, flits: 20, stalls: 20 });
    expect(edges.find((e) => e.lower === 1)?.up.counted).toBe(0);
  });
  it("finds levels by the distance to nodes where the model has none", () => {
    const { order } = treeOf({ ...machine, level: [null, null, null, null] }, links, null);
    expect(order).toEqual([[0, 1], [2, 3]]);
  });
  it("draws leaves below spines, and finds a switch under the pointer", () => {
    const layout = treeLayout(treeOf(machine, links, null), machine, 600, 400);
    expect(layout.y[0]).toBeGreaterThan(layout.y[2] ?? Infinity);
    expect(switchAt(layout, layout.x[3] ?? 0, layout.y[3] ?? 0)).toBe(3);
    expect(switchAt(layout, 300, 399)).toBeNull();
  });
});
