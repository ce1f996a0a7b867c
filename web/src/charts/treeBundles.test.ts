import { describe, expect, it } from "vitest";
import type { Machine } from "./arrange";
import { mostTraffic, treeOf } from "./tree";
import { bundlesOf, drawBundles, pixelOf, worstOf } from "./treeBundles";
import { treeLayout } from "./treePlot";

/** Leaves that are all connected with all spines, both ways; one link is hot. */
function wide(leaves: number, spines: number, hot: number) {
  const links = { link: [] as number[], src: [] as number[], dst: [] as number[] };
  const sums = { link: [] as number[], flits: [] as number[], stall_cycles: [] as number[] };
  for (let leaf = 0; leaf < leaves; leaf++)
    for (let spine = leaves; spine < leaves + spines; spine++)
      for (const [a, b] of [
        [leaf, spine],
        [spine, leaf],
      ] as const) {
        const link = links.link.push(links.link.length) - 1;
        links.src.push(a);
        links.dst.push(b);
        sums.link.push(link);
        sums.flits.push(10);
        sums.stall_cycles.push(link === hot ? 400 : 1);
      }
  const size = leaves + spines;
  const none = Array.from({ length: size }, () => null);
  const level = Array.from({ length: size }, (_, i) => (i < leaves ? 0 : 1));
  const machine: Machine = {
    kind: "fat_tree",
    size,
    name: level.map(String),
    group: none,
    row: none,
    col: none,
    level,
    coords: null,
    nodes: level.map((l) => (l ? 0 : 4)),
    sampled: level.map(() => true),
  };
  return { machine, tree: treeOf(machine, links, sums) };
}

describe("bundles of a tree's links", () => {
  it("hold every one of 100,000 links once, in few lines, and none of them hides the worst", () => {
    const { machine, tree } = wide(500, 100, 77_777);
    expect(mostTraffic(tree)).toBe(10);
    const bundles = bundlesOf(tree, treeLayout(tree, machine, 900, 500));
    expect(bundles.length).toBeLessThanOrEqual(24_000);
    expect(new Set(bundles.flatMap((one) => one.halves)).size).toBe(100_000);
    expect(Math.max(...bundles.map(worstOf))).toBe(40);

    const pixels = new Uint32Array(900 * 500);
    drawBundles(pixels, { width: 900, height: 500, scale: 1 }, bundles, (ratio) => (ratio > 30 ? 2 : 1));
    // The whole line of the hot link lies over the others, from row to row.
    expect(pixels.filter((one) => one === 2).length).toBeGreaterThan(200);
    expect(pixels.filter((one) => one === 1).length).toBeGreaterThan(10_000);
  });

  it("keep each half edge apart where there is room", () => {
    const { machine, tree } = wide(12, 6, 5);
    expect(bundlesOf(tree, treeLayout(tree, machine, 900, 500)).length).toBe(144);
  });

  it("have the colours of the picture", () => {
    expect(pixelOf("#010203")).toBe(0xff030201);
    expect(pixelOf("rgb(16 32 48)")).toBe(0xff302010);
  });
});
