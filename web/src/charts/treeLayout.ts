/** The places of a tree: its switches by level, from the leaves up, and the nodes under their leaf; no pixel is drawn here. */
import { levelName, type Machine } from "./arrange";
import type { HalfEdge, Tree } from "./tree";

export interface TreeLayout {
  left: number;
  x: Float64Array;
  y: Float64Array;
  radius: Float64Array;
  rows: { name: string; count: number; y: number }[];
  nodesTop: number;
  nodeStep: number;
  nodeWidth: number;
  /** Width of the half edge with the most traffic. */
  widest: number;
  width: number;
  height: number;
}

export const GUTTER = 64;
const WIDEST = 4.2;
const NARROWEST = 0.9;

export function treeLayout(tree: Tree, machine: Machine, width: number, height: number): TreeLayout {
  const x = new Float64Array(machine.size);
  const y = new Float64Array(machine.size);
  const radius = new Float64Array(machine.size);
  x.fill(-1e6);
  y.fill(-1e6);
  const most = Math.max(0, ...machine.nodes.map((n) => n ?? 0));
  const nodesHeight = most ? Math.min(height * 0.28, most * 7) : 0;
  const bottom = height - nodesHeight - (most ? 26 : 14);
  const space = width - GUTTER - 8;
  const rows = tree.order.map((routers, i) => {
    const at = tree.order.length > 1 ? bottom - (i / (tree.order.length - 1)) * (bottom - 16) : height / 2;
    const pitch = space / Math.max(1, routers.length);
    routers.forEach((router, j) => {
      x[router] = GUTTER + (j + 0.5) * pitch;
      y[router] = at;
      radius[router] = Math.max(1.8, Math.min(5.5, pitch * 0.38));
    });
    return { name: levelName(tree.levels[i] ?? 0, tree.levels), count: routers.length, y: at };
  });
  const leaves = tree.order[0]?.length ?? 1;
  const pitch = space / Math.max(1, leaves);
  return {
    left: GUTTER,
    x,
    y,
    radius,
    rows,
    nodesTop: bottom + 14,
    nodeStep: most ? Math.max(1.5, Math.min(7, nodesHeight / most)) : 0,
    nodeWidth: Math.max(1, pitch * 0.66),
    widest: Math.max(NARROWEST, Math.min(WIDEST, pitch / 9)),
    width,
    height,
  };
}

export function switchAt(layout: TreeLayout, x: number, y: number): number | null {
  let best: number | null = null;
  let nearest = Infinity;
  for (let r = 0; r < layout.x.length; r++) {
    const distance = Math.hypot((layout.x[r] as number) - x, ((layout.y[r] as number) - y) * 0.8);
    if (distance < nearest) {
      nearest = distance;
      best = r;
    }
  }
  return nearest <= 12 ? best : null;
}

/** A directed link of a tree, with the parallel cables that are drawn as one. */
export interface TreeLink {
  src: number;
  dst: number;
  half: HalfEdge;
}

/** Pixels beside a line that are still on it. */
const NEAR = 4;

/** The link at a place: the lower half of an edge is the up link, its upper half the down link. */
export function linkAt(layout: TreeLayout, tree: Tree, x: number, y: number): TreeLink | null {
  let best: TreeLink | null = null;
  let nearest = NEAR;
  for (const { lower, upper, up, down } of tree.edges) {
    const [x0, y0] = [layout.x[lower] as number, layout.y[lower] as number];
    const [x1, y1] = [layout.x[upper] as number, layout.y[upper] as number];
    if (x0 < 0 || x1 < 0 || y > y0 || y < y1) continue;
    const length = Math.hypot(x1 - x0, y1 - y0);
    const distance = Math.abs((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)) / length;
    if (distance > nearest) continue;
    nearest = distance;
    best = y > (y0 + y1) / 2 ? { src: lower, dst: upper, half: up } : { src: upper, dst: lower, half: down };
  }
  return best;
}
