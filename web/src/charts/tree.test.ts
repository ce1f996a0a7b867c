import { describe, expect, it } from "vitest";
import halves from "../../tests/fixture/halves.json";
import type { Machine } from "./arrange";
import { changeOf, ratioOf, sliceOf, slicesOf, treeOf, worstOfLeaves } from "./tree";
import { linkAt, switchAt, treeLayout } from "./treeLayout";

// Two leaves and two spines, all connected, both ways; leaf 0 - spine 2 has two cables.
const links = { link: [0, 1, 2, 3, 4, 5, 6], src: [0, 2, 0, 2, 1, 3, 0], dst: [2, 0, 2, 0, 3, 1, null] };
const machine: Machine = {
  kind: "fat_tree",
  size: 4,
  name: ["l0", "l1", "s0", "s1"],
  group: [null, null, null, null],
  row: [null, null, null, null],
  col: [null, null, null, null],
  level: [0, 0, 1, 1],
  coords: null,
  nodes: [2, 2, 0, 0],
  sampled: [false, false, false, false],
};

describe("tree", () => {
  it("joins parallel cables and keeps up and down apart", () => {
    const { edges } = treeOf(machine, links, { link: [0, 3], flits: [10, 20], stall_cycles: [30, 20] });
    const edge = edges.find((e) => e.lower === 0 && e.upper === 2);
    expect(edge?.up).toEqual({ links: 2, counted: 1, flits: 10, stalls: 30 });
    expect(edge?.down).toEqual({ links: 2, counted: 1, flits: 20, stalls: 20 });
    expect(edges.find((e) => e.lower === 1)?.up.counted).toBe(0);
  });
  it("joins cables into the halves that the papers' plots draw (tests/research/test_fraction_plot.py reads the same case)", () => {
    const { edges } = treeOf(
      { ...machine, level: halves.levels },
      { link: [...halves.links.keys()], src: halves.links.map((l) => l.src), dst: halves.links.map((l) => l.dst) },
      {
        link: [...halves.links.keys()],
        flits: halves.links.map((l) => l.traffic),
        stall_cycles: halves.links.map((l) => l.traffic * (l.fraction ?? 0)),
      },
    );
    const drawn = edges.flatMap(({ lower, upper, up, down }) => [
      { src: lower, dst: upper, traffic: up.flits, fraction: ratioOf(up) },
      { src: upper, dst: lower, traffic: down.flits, fraction: ratioOf(down) },
    ]);
    expect(drawn.filter((half) => half.traffic > 0).sort((a, b) => a.src - b.src)).toEqual(
      halves.halves.map((half) => ({ ...half, fraction: expect.closeTo(half.fraction) })),
    );
  });
  it("shows the change of each link between two windows, and nothing where either is unknown", () => {
    const of = (stalls: number) =>
      treeOf(machine, links, { link: [0, 3], flits: [10, 20], stall_cycles: [stalls, 20] });
    const edge = changeOf(of(80), of(20)).edges.find((e) => e.lower === 0 && e.upper === 2);
    expect(edge && [ratioOf(edge.up), ratioOf(edge.down)]).toEqual([4, 1]);
    expect(changeOf(of(80), treeOf(machine, links, null)).edges.every((e) => ratioOf(e.up) === -1)).toBe(true);
  });
  it("finds levels by the distance to nodes where the model has none", () => {
    const { order } = treeOf({ ...machine, level: [null, null, null, null] }, links, null);
    expect(order).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });
  it("draws leaves below spines, and finds a switch under the pointer", () => {
    const layout = treeLayout(treeOf(machine, links, null), machine, 600, 400);
    expect(layout.y[0]).toBeGreaterThan(layout.y[2] ?? Infinity);
    expect(switchAt(layout, layout.x[3] ?? 0, layout.y[3] ?? 0)).toBe(3);
    expect(switchAt(layout, 300, 399)).toBeNull();
  });
  it("cuts a slice: one group's leaves with all above them, and no other group's links", () => {
    const grouped = { ...machine, group: [0, 1, null, null] };
    const tree = treeOf(grouped, links, null);
    expect(slicesOf(tree, grouped)).toEqual([0, 1]);
    const part = sliceOf(tree, grouped, 0);
    expect(part.order).toEqual([[0], [2]]);
    expect(part.edges.map((e) => e.lower)).toEqual([0]);
    expect(sliceOf(tree, grouped, null)).toBe(tree);
  });
  it("keeps cables to nodes apart by direction, and unknown links unknown", () => {
    const sums = {
      link: [3, 6, 7, 8],
      src: [2, 0, null, 0],
      dst: [0, null, 0, null],
      src_port: [1, 9, null, 4],
      dst_port: [1, null, 9, null],
      flits: [20, 8, 4, 2],
      stall_cycles: [10, 4, 4, 0],
    };
    const tree = treeOf(machine, links, sums);
    expect(tree.terminals.get(0)?.map((t) => [t.port, t.down.flits, t.up.flits])).toEqual([
      [4, 2, 0],
      [9, 8, 4],
    ]);
    const [first, second] = worstOfLeaves(tree);
    expect(first).toEqual({ leaf: 0, fromSpines: 0.5, toSpines: NaN, toNodes: 0.5, fromNodes: 1 });
    expect(second).toEqual({ leaf: 1, fromSpines: NaN, toSpines: NaN, toNodes: NaN, fromNodes: NaN });
  });
});

describe("pointing at a tree", () => {
  const tree = treeOf(machine, links, { link: [0, 1], flits: [10, 20], stall_cycles: [30, 20] });
  const layout = treeLayout(tree, machine, 400, 300);
  const at = (router: number): [number, number] => [layout.x[router] ?? NaN, layout.y[router] ?? NaN];
  const between = (lower: number, upper: number, part: number): [number, number] => {
    const [[x0, y0], [x1, y1]] = [at(lower), at(upper)];
    return [x0 + part * (x1 - x0), y0 + part * (y1 - y0)];
  };
  it("finds the up link in the lower half of an edge and the down link in its upper half", () => {
    expect(linkAt(layout, tree, ...between(0, 2, 0.3))).toMatchObject({ src: 0, dst: 2, half: { flits: 10 } });
    expect(linkAt(layout, tree, ...between(0, 2, 0.7))).toMatchObject({ src: 2, dst: 0, half: { flits: 20 } });
  });
  it("finds none away from the lines", () => {
    const [x, y] = between(0, 2, 0.5);
    expect(linkAt(layout, tree, x - 40, y)).toBeNull();
    expect(linkAt(layout, tree, x, at(0)[1] + 10)).toBeNull();
  });
});
