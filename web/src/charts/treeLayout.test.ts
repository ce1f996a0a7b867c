import { describe, expect, it } from "vitest";
import type { Machine } from "./arrange";
import { mostTraffic, treeOf } from "./tree";
import { bundlesOf, colourParts, pixelOf, placePath, traced, treeLayout, type TreeLayout, worstOf } from "./treeLayout";

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
    const long = bundles.map(({ x0, y0, x1, y1 }) => Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)));
    expect(long.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(3_000_000);
    expect(new Set(bundles.flatMap((one) => one.halves)).size).toBe(100_000);
    expect(Math.max(...bundles.map(worstOf))).toBe(40);

    const pixels = new Uint32Array(900 * 500);
    const lines = traced({ width: 900, height: 500, scale: 1 }, bundles, []);
    colourParts(pixels, lines, 0, (ratio) => (ratio > 30 ? 2 : 1));
    // The whole line of the hot link lies over the others, from row to row.
    expect(pixels.filter((one) => one === 2).length).toBeGreaterThan(200);
    expect(pixels.filter((one) => one === 1).length).toBeGreaterThan(10_000);
    // Other colours stand at the same pixels, whatever was there, and the ground next to the lines.
    const again = pixels.map((_, i) => i);
    colourParts(again, lines, 7, (ratio) => (ratio > 30 ? 4 : 3));
    expect(again.every((one, i) => one === (pixels[i] ? (pixels[i] as number) + 2 : 7))).toBe(true);
  });

  it("keep each half edge apart where there is room", () => {
    const { machine, tree } = wide(12, 6, 5);
    expect(bundlesOf(tree, treeLayout(tree, machine, 900, 500)).length).toBe(144);
  });

  it("are alongside rectangles that are never thinner than a pixel, and never out of the picture", () => {
    const values = new Uint32Array(40);
    const nodes = [
      { x: 1.2, y: 0.9, w: 0.3, h: 0.2, ratio: 7 },
      { x: 8.1, y: 2, w: 9, h: 9, ratio: 5 },
      { x: -3, y: -3, w: 2, h: 2, ratio: 9 },
    ];
    colourParts(values, traced({ width: 10, height: 4, scale: 1 }, [], nodes), 0, (ratio) => ratio);
    expect(Array.from(values, (value, i) => [i, value]).filter(([, value]) => value)).toEqual([
      [11, 7],
      [28, 5],
      [29, 5],
      [38, 5],
      [39, 5],
    ]);
  });

  it("have the colours of the picture", () => {
    expect(pixelOf("#010203")).toBe(0xff030201);
    // A style sheet is shortened when the page is built.
    expect(pixelOf("#fff")).toBe(0xffffffff);
    expect(pixelOf("#12a")).toBe(0xffaa2211);
    expect(pixelOf("rgb(16 32 48)")).toBe(0xff302010);
  });
});

/** Two leaves and a spine; the third switch is not in the drawn slice. */
const layout = {
  x: Float64Array.of(100, 200, 150, -1e6),
  y: Float64Array.of(300, 300, 20, -1e6),
} as TreeLayout;
const NODE = 4;

it("numbers the hops of a way, and hangs a node's end below its leaf", () => {
  const hops = placePath(layout, [
    { src: NODE, dst: 0 },
    { src: 0, dst: 2 },
    { src: 2, dst: 1 },
    { src: 1, dst: NODE + 5 },
  ]);
  expect(hops.map((hop) => hop.label)).toEqual(["1", "2", "3", "4"]);
  expect(hops[0]).toMatchObject({ from: [100, 326], to: [100, 300], at: [100, 313] });
  expect(hops[1]).toMatchObject({ from: [100, 300], to: [150, 20], at: [125, 160] });
  expect(hops[3]?.to).toEqual([200, 326]);
});

it("moves the number of a hop along it where another number would cover it", () => {
  const [there, back] = placePath(layout, [
    { src: 0, dst: 2 },
    { src: 2, dst: 0 },
  ]);
  expect(there?.at).toEqual([125, 160]);
  expect(back?.at).toEqual([135, 104]);
});

it("leaves out a hop beyond the slice, and keeps the numbers of the others", () => {
  const hops = placePath(layout, [
    { src: 3, dst: 2 },
    { src: 2, dst: 1 },
  ]);
  expect(hops.map((hop) => hop.label)).toEqual(["2"]);
});
