/**
 * A tree (or any fabric with levels) as the dissertation draws it: levels from cores down to leaves and nodes; the upper half of an edge
 * is the down link, the lower half the up link (State, layout, drawing).
 */
import type { Machine } from "./arrange";
import { levelName } from "./arrange";
import { count } from "../lib/format";
import { font, type Palette } from "./palette";
import { heatColour } from "./scale";

export interface HalfEdge {
  links: number;
  counted: number;
  flits: number;
  stalls: number;
}

export interface TreeEdge {
  lower: number;
  upper: number;
  up: HalfEdge;
  down: HalfEdge;
}

export interface Tree {
  /** Level of each router, leaves 0; routers without nodes and level stand at the level of their distance to a leaf. */
  level: Int32Array;
  levels: number[];
  /** Routers of each level in drawing order. */
  order: number[][];
  edges: TreeEdge[];
  /** Links between routers of one level: counted, not drawn. */
  sideways: number;
}

interface LinkEnds {
  link: number[];
  src: (number | null)[];
  dst: (number | null)[];
}

export interface LinkSums {
  flits: (number | null)[];
  stall_cycles: (number | null)[];
  link: number[];
}

function levelsOf(machine: Machine, links: LinkEnds): Int32Array {
  const level = Int32Array.from(machine.level, (l) => l ?? -1);
  if (level.every((l) => l >= 0)) return level;
  const next = new Map<number, number[]>();
  links.src.forEach((src, i) => {
    const dst = links.dst[i];
    if (src == null || dst == null) return;
    const list = next.get(src);
    if (list) list.push(dst);
    else next.set(src, [dst]);
  });
  level.fill(-1);
  let front = machine.nodes.flatMap((nodes, r) => ((nodes ?? 0) > 0 ? [r] : []));
  if (!front.length && machine.size) front = [0];
  for (let depth = 0; front.length; depth++) {
    front.forEach((r) => (level[r] = depth));
    front = [...new Set(front.flatMap((r) => next.get(r) ?? []))].filter((r) => level[r] === -1);
  }
  return level.map((l) => Math.max(0, l));
}

/** Levels, edges between them and an order of each level that keeps connected routers near each other. */
export function treeOf(machine: Machine, links: LinkEnds, sums: LinkSums | null): Tree {
  const level = levelsOf(machine, links);
  const levels = [...new Set(level)].sort((a, b) => a - b);
  const counted = new Map<number, { flits: number; stalls: number }>();
  sums?.link.forEach((link, i) => {
    const flits = sums.flits[i];
    if (flits != null) counted.set(link, { flits, stalls: sums.stall_cycles[i] ?? 0 });
  });
  const edges = new Map<number, TreeEdge>();
  let sideways = 0;
  const half = (): HalfEdge => ({ links: 0, counted: 0, flits: 0, stalls: 0 });
  links.link.forEach((link, i) => {
    const [src, dst] = [links.src[i], links.dst[i]];
    if (src == null || dst == null) return;
    const [from, to] = [level[src] as number, level[dst] as number];
    if (from === to) {
      sideways++;
      return;
    }
    const [lower, upper] = from < to ? [src, dst] : [dst, src];
    const key = lower * machine.size + upper;
    const edge = edges.get(key) ?? { lower, upper, up: half(), down: half() };
    edges.set(key, edge);
    const side = from < to ? edge.up : edge.down;
    const value = counted.get(link);
    side.links++;
    if (value) {
      side.counted++;
      side.flits += value.flits;
      side.stalls += value.stalls;
    }
  });
  const list = [...edges.values()];
  return { level, levels, order: ordered(machine, level, levels, list), edges: list, sideways };
}

function ordered(machine: Machine, level: Int32Array, levels: number[], edges: TreeEdge[]): number[][] {
  const place = new Float64Array(machine.size);
  const members = levels.map((l) => Array.from(level.keys()).filter((r) => level[r] === l));
  const byGroup = (a: number, b: number) => (machine.group[a] ?? 1e9) - (machine.group[b] ?? 1e9) || a - b;
  const settle = (routers: number[]) => routers.forEach((r, i) => (place[r] = (i + 0.5) / routers.length));
  members.forEach((routers) => settle(routers.sort(byGroup)));
  const sweep = (routers: number[], near: (edge: TreeEdge) => [number, number]) => {
    const sum = new Map<number, [number, number]>();
    for (const edge of edges) {
      const [own, other] = near(edge);
      const old = sum.get(own) ?? [0, 0];
      sum.set(own, [old[0] + (place[other] as number), old[1] + 1]);
    }
    const mean = (r: number) => {
      const [total, n] = sum.get(r) ?? [place[r] as number, 1];
      return total / n;
    };
    settle(routers.sort((a, b) => mean(a) - mean(b) || a - b));
  };
  // Leaves grouped as the model says; each level above leans on the one below, then the leaves on their parents once.
  for (let i = 1; i < members.length; i++) sweep(members[i] as number[], (edge) => [edge.upper, edge.lower]);
  if (members[0] && machine.group.every((g) => g === null)) {
    sweep(members[0], (edge) => [edge.lower, edge.upper]);
    for (let i = 1; i < members.length; i++) sweep(members[i] as number[], (edge) => [edge.upper, edge.lower]);
  }
  return members;
}

export interface TreeLayout {
  left: number;
  x: Float64Array;
  y: Float64Array;
  radius: Float64Array;
  rows: { name: string; count: number; y: number }[];
  nodesTop: number;
  nodeStep: number;
  nodeWidth: number;
  width: number;
  height: number;
}

const GUTTER = 64;

export function treeLayout(tree: Tree, machine: Machine, width: number, height: number): TreeLayout {
  const x = new Float64Array(machine.size);
  const y = new Float64Array(machine.size);
  const radius = new Float64Array(machine.size);
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
  return {
    left: GUTTER, x, y, radius, rows, nodesTop: bottom + 14, nodeStep: most ? Math.max(1.5, Math.min(7, nodesHeight / most)) : 0,
    nodeWidth: Math.max(1, (space / leaves) * 0.66), width, height,
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

const WIDEST = 4.2;

/** Width of a half edge: its share of the largest traffic, or of the number of cables where nothing is counted. */
function widthOf(half: HalfEdge, mostFlits: number): number {
  if (half.counted && mostFlits > 0) return Math.max(0.5, (half.flits / mostFlits) * WIDEST);
  return Math.min(2.2, 0.6 + 0.4 * (half.links - 1));
}

export function drawTree(context: CanvasRenderingContext2D, layout: TreeLayout, tree: Tree, machine: Machine, ratios: Float64Array | null, palette: Palette): void {
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, layout.width, layout.height);
  const halves = tree.edges.flatMap((edge) => [{ edge, half: edge.down, side: -1 }, { edge, half: edge.up, side: 1 }]).filter(({ half }) => half.links > 0);
  const ratioOf = (half: HalfEdge) => (half.counted ? (half.flits > 0 ? half.stalls / half.flits : 0) : -1);
  halves.sort((a, b) => ratioOf(a.half) - ratioOf(b.half));
  const mostFlits = Math.max(0, ...halves.map(({ half }) => half.flits));
  const dense = halves.length > 3000;
  // Beside counted links the others are dashed; where none is counted the picture's caption says so, and strokes stay quick.
  const mixed = halves.some(({ half }) => half.counted > 0);
  for (const { edge, half, side } of halves) {
    const [x0, y0, x1, y1] = [layout.x[edge.lower], layout.y[edge.lower], layout.x[edge.upper], layout.y[edge.upper]] as [number, number, number, number];
    const width = widthOf(half, mostFlits);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    // The normal that points down the page; an upright edge takes left for the down link.
    let [nx, ny] = [-(y1 - y0) / length, (x1 - x0) / length];
    if (ny < 0 || (Math.abs(ny) < 1e-6 && nx < 0)) [nx, ny] = [-nx, -ny];
    const shift = (side * width) / 2;
    const ratio = ratioOf(half);
    context.strokeStyle = ratio < 0 ? palette.lineStrong : heatColour(ratio, palette.theme);
    context.globalAlpha = ratio < 0 ? (dense ? 0.35 : 0.7) : 1;
    context.lineWidth = width;
    context.setLineDash(mixed && ratio < 0 ? [2, 3] : []);
    context.beginPath();
    context.moveTo(x0 + nx * shift, y0 + ny * shift);
    context.lineTo(x1 + nx * shift, y1 + ny * shift);
    context.stroke();
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  drawNodes(context, layout, tree, machine, palette);
  drawSwitches(context, layout, machine, ratios, palette);
  context.textAlign = "left";
  for (const row of layout.rows) {
    context.font = font(11);
    context.fillStyle = palette.ink2;
    context.fillText(String(row.count), 0, row.y + 4);
    context.fillStyle = palette.ink3;
    context.fillText(plural(row.name, row.count), context.measureText(String(row.count)).width + 4, row.y + 4);
  }
}

const plural = (name: string, n: number) => (n === 1 ? name : name === "leaf" ? "leaves" : `${name}s`);

/** Nodes under their leaf: one bar each. */
function drawNodes(context: CanvasRenderingContext2D, layout: TreeLayout, tree: Tree, machine: Machine, palette: Palette): void {
  context.fillStyle = palette.lineStrong;
  let total = 0;
  tree.level.forEach((_, router) => {
    const nodes = machine.nodes[router] ?? 0;
    total += nodes;
    if (nodes === 0 || layout.y[router] !== layout.rows[0]?.y) return;
    for (let i = 0; i < nodes; i++) {
      context.fillRect((layout.x[router] as number) - layout.nodeWidth / 2, layout.nodesTop + i * layout.nodeStep, layout.nodeWidth, Math.max(0.8, layout.nodeStep * 0.55));
    }
  });
  if (!total) return;
  context.font = font(11);
  context.fillStyle = palette.ink3;
  context.fillText(`${count(total)} nodes`, 0, layout.nodesTop + 10);
}

function drawSwitches(context: CanvasRenderingContext2D, layout: TreeLayout, machine: Machine, ratios: Float64Array | null, palette: Palette): void {
  for (let r = 0; r < machine.size; r++) {
    const value = ratios?.[r] ?? NaN;
    context.beginPath();
    context.arc(layout.x[r] as number, layout.y[r] as number, layout.radius[r] as number, 0, 2 * Math.PI);
    // Unknown is an outline without a fill, as a cell is.
    const unknown = Number.isNaN(value);
    context.fillStyle = unknown ? palette.surface : heatColour(value, palette.theme);
    context.fill();
    context.strokeStyle = unknown ? palette.ink3 : palette.surface;
    context.lineWidth = 1;
    context.stroke();
  }
}
