import { expect, it } from "vitest";
import { placePath } from "./treePath";
import type { TreeLayout } from "./treeLayout";

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

it("leaves out a hop beyond the slice, and keeps the numbers of the others", () => {
  const hops = placePath(layout, [
    { src: 3, dst: 2 },
    { src: 2, dst: 1 },
  ]);
  expect(hops.map((hop) => hop.label)).toEqual(["2"]);
});
