/**
 * A tree as the dissertation draws it (Taffet 2021, section 2.3.3): the upper half of an edge is the down link, the lower half the up
 * link; darkness is the ratio, width the traffic; nodes are pairs of rectangles under their leaf, down link above up link (layout, drawing).
 */
import type { Machine } from "./arrange";
import { count } from "../lib/format";
import { font, type Palette } from "./palette";
import { changeColour, fractionColour, heatColour, heatLineColour, type Theme } from "./scale";
import {
  bundlesOf,
  colourParts,
  GUTTER,
  MOST_STROKES,
  type Rectangle,
  rememberedPixels,
  type Shape,
  traced,
  type Traced,
  type TreeLayout,
} from "./treeLayout";
import { mostTraffic, ratioOf, type HalfEdge, type LeafWorst, type Terminal, type Tree } from "./tree";

/** What is drawn: stall cycles per flit, their change between windows, or the congested fraction. */
export type Measure = "stalls" | "change" | "fraction";
const COLOURS = { stalls: heatColour, change: changeColour, fraction: fractionColour };
export const measureColour = (measure: Measure, value: number, theme: Theme): string => COLOURS[measure](value, theme);

/** The same of what is thin, and stands on the page's own ground. */
const lineColour = (measure: Measure, value: number, theme: Theme): string =>
  measure === "stalls" ? heatLineColour(value, theme) : measureColour(measure, value, theme);

/** Width of a half edge: its share of the largest traffic, or of the number of cables if nothing is counted. */
function widthOf(half: HalfEdge, mostFlits: number, widest: number): number {
  if (half.counted && mostFlits > 0) return Math.max(0.5, Math.min(1.25, half.flits / mostFlits) * widest);
  return Math.min(2.2, 0.6 + 0.4 * (half.links - 1));
}

export interface TreePaint {
  measure: Measure;
  /** Stalls per flit of the switches themselves, where they are coloured. */
  ratios: Float64Array | null;
  /** Traffic of the widest half edge: the same between plots that are compared. */
  most?: number;
  palette: Palette;
}

export function drawTree(
  context: CanvasRenderingContext2D,
  layout: TreeLayout,
  tree: Tree,
  machine: Machine,
  paint: TreePaint,
): void {
  const { palette } = paint;
  if (isBundled(tree) && context instanceof CanvasRenderingContext2D) drawMany(context, layout, tree, machine, paint);
  else {
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, layout.width, layout.height);
    drawEach(context, layout, tree, paint);
    eachNode(layout, tree, machine, (x, y, w, h, ratio) => {
      context.fillStyle = ratio < 0 ? palette.lineStrong : measureColour(paint.measure, ratio, palette.theme);
      context.fillRect(x, y, w, h);
    });
  }
  nameNodes(context, layout, tree, machine, palette);
  if (isBundled(tree) && context instanceof CanvasRenderingContext2D) stampSwitches(context, layout, tree, paint);
  else drawSwitches(context, layout, tree, paint);
  context.textAlign = "left";
  for (const row of layout.rows) {
    context.font = font(11);
    context.fillStyle = palette.ink2;
    context.fillText(String(row.count), 0, row.y + 4);
    context.fillStyle = palette.ink3;
    context.fillText(plural(row.name, row.count), context.measureText(String(row.count)).width + 4, row.y + 4);
  }
}

/** Whether links are drawn in bundles, each with its worst: a slice of the tree shows every one. */
export const isBundled = (tree: Tree): boolean => 2 * tree.edges.length > MOST_STROKES;

const lines = new WeakMap<TreeLayout, { tree: Tree; made: Traced; image: ImageData }>();

/** Links and nodes as pixels: tens of thousands of strokes and rectangles would take more than a frame. */
function drawMany(
  context: CanvasRenderingContext2D,
  layout: TreeLayout,
  tree: Tree,
  machine: Machine,
  paint: TreePaint,
): void {
  const { palette, measure } = paint;
  const { width, height } = context.canvas;
  const scale = width / layout.width;
  const old = lines.get(layout);
  const { made, image } =
    old?.tree === tree && old.image.width === width
      ? old
      : {
          made: seen(layout, tree, machine, { width, height, scale }),
          image: context.createImageData(width, height),
        };
  lines.set(layout, { tree, made, image });
  const pixelOf = rememberedPixels();
  const unknown = pixelOf(palette.lineStrong);
  colourParts(new Uint32Array(image.data.buffer), made, pixelOf(palette.surface), (ratio) =>
    ratio < 0 ? unknown : pixelOf(measureColour(measure, ratio, palette.theme)),
  );
  context.putImageData(image, 0, 0);
}

function seen(layout: TreeLayout, tree: Tree, machine: Machine, shape: Shape): Traced {
  const nodes: Rectangle[] = [];
  eachNode(layout, tree, machine, (x, y, w, h, ratio) => nodes.push({ x, y, w, h, ratio }));
  return traced(shape, bundlesOf(tree, layout), nodes);
}

function drawEach(context: CanvasRenderingContext2D, layout: TreeLayout, tree: Tree, paint: TreePaint): void {
  const { palette, measure } = paint;
  const halves = tree.edges
    .flatMap((edge) => [
      { edge, half: edge.down, side: -1 },
      { edge, half: edge.up, side: 1 },
    ])
    .filter(({ half }) => half.links > 0);
  halves.sort((a, b) => ratioOf(a.half) - ratioOf(b.half));
  const mostFlits = paint.most ?? mostTraffic(tree);
  const dense = halves.length > 3000;
  // Beside counted links the others are dashed; if none is counted the picture's caption says so, and strokes stay quick.
  const mixed = halves.some(({ half }) => half.counted > 0);
  for (const { edge, half, side } of halves) {
    const [x0, y0, x1, y1] = [
      layout.x[edge.lower],
      layout.y[edge.lower],
      layout.x[edge.upper],
      layout.y[edge.upper],
    ] as [number, number, number, number];
    const width = widthOf(half, mostFlits, layout.widest);
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    // The normal that points down the page; an upright edge takes left for the down link.
    let [nx, ny] = [-(y1 - y0) / length, (x1 - x0) / length];
    if (ny < 0 || (Math.abs(ny) < 1e-6 && nx < 0)) [nx, ny] = [-nx, -ny];
    const shift = (side * width) / 2;
    const ratio = ratioOf(half);
    context.strokeStyle = ratio < 0 ? palette.lineStrong : lineColour(measure, ratio, palette.theme);
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
}

const plural = (name: string, n: number) => (n === 1 ? name : name === "leaf" ? "leaves" : `${name}s`);

/** Nodes under their leaf: a pair of rectangles each where their cables are counted, else a hairline of unknown ratio (below 0), which no value resembles. */
function eachNode(
  layout: TreeLayout,
  tree: Tree,
  machine: Machine,
  fill: (x: number, y: number, width: number, height: number, ratio: number) => void,
): void {
  const leaves = tree.order[0] ?? [];
  let most = 0;
  for (const leaf of leaves)
    for (const { up, down } of tree.terminals.get(leaf) ?? []) most = Math.max(most, up.flits, down.flits);
  const thick = Math.max(0.7, layout.nodeStep * 0.42);
  for (const leaf of leaves) {
    const nodes = machine.nodes[leaf] ?? 0;
    const terminals = tree.terminals.get(leaf) ?? [];
    const left = (layout.x[leaf] as number) - layout.nodeWidth / 2;
    const bar = (half: HalfEdge, y: number) => {
      if (!half.counted) return;
      const width = Math.max(0.8, most > 0 ? (half.flits / most) * layout.nodeWidth : 0);
      fill(left, y, width, thick, ratioOf(half));
    };
    for (let i = 0; i < nodes; i++) {
      const y = layout.nodesTop + i * layout.nodeStep;
      const terminal: Terminal | undefined = terminals[i];
      if (terminal) {
        bar(terminal.down, y);
        bar(terminal.up, y + thick);
      } else {
        fill(left, y + thick / 2, layout.nodeWidth, 0.8, -1);
      }
    }
  }
}

function nameNodes(
  context: CanvasRenderingContext2D,
  layout: TreeLayout,
  tree: Tree,
  machine: Machine,
  palette: Palette,
): void {
  const total = (tree.order[0] ?? []).reduce((sum, leaf) => sum + (machine.nodes[leaf] ?? 0), 0);
  if (!total) return;
  context.font = font(11);
  context.fillStyle = palette.ink3;
  context.fillText(`${count(total)} nodes`, 0, layout.nodesTop + 10);
  if (tree.terminals.size) context.fillText("down, up", 0, layout.nodesTop + 24);
}

/** How a switch is painted: in its own stall ratio, or all alike where links alone are known. */
function switchPaint(router: number, { palette, measure, ratios }: TreePaint): { fill: string; stroke: string } {
  if (measure === "fraction") return { fill: palette.node, stroke: palette.surface };
  const value = ratios?.[router] ?? NaN;
  // Unknown is an outline without a fill, as a cell is.
  return Number.isNaN(value)
    ? { fill: palette.surface, stroke: palette.ink3 }
    : { fill: lineColour(measure, value, palette.theme), stroke: palette.surface };
}

function disc(
  context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
  x: number,
  y: number,
  radius: number,
  { fill, stroke }: { fill: string; stroke: string },
): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = stroke;
  context.lineWidth = 1;
  context.stroke();
}

function drawSwitches(context: CanvasRenderingContext2D, layout: TreeLayout, tree: Tree, paint: TreePaint): void {
  for (const router of tree.order.flat())
    disc(
      context,
      layout.x[router] as number,
      layout.y[router] as number,
      layout.radius[router] as number,
      switchPaint(router, paint),
    );
}

/** Discs of so many switches are drawn once for each colour and size, and then copied: a copy costs a fraction of an arc. */
function stampSwitches(context: CanvasRenderingContext2D, layout: TreeLayout, tree: Tree, paint: TreePaint): void {
  const scale = context.canvas.width / layout.width;
  const stamps = new Map<string, OffscreenCanvas>();
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  for (const router of tree.order.flat()) {
    const radius = layout.radius[router] as number;
    const colours = switchPaint(router, paint);
    const key = `${radius} ${colours.fill} ${colours.stroke}`;
    let stamp = stamps.get(key);
    if (!stamp) {
      const side = Math.ceil((2 * radius + 2) * scale);
      stamp = new OffscreenCanvas(side, side);
      const own = stamp.getContext("2d");
      own?.scale(scale, scale);
      if (own) disc(own, side / scale / 2, side / scale / 2, radius, colours);
      stamps.set(key, stamp);
    }
    const half = stamp.width / 2;
    context.drawImage(
      stamp,
      Math.round((layout.x[router] as number) * scale - half),
      Math.round((layout.y[router] as number) * scale - half),
    );
  }
  context.restore();
}

export const LANES: { key: keyof Omit<LeafWorst, "leaf">; label: string }[] = [
  { key: "fromSpines", label: "spine ↓" },
  { key: "toSpines", label: "spine ↑" },
  { key: "toNodes", label: "node ↓" },
  { key: "fromNodes", label: "node ↑" },
];
const LANE = 12;
export const STRIP_HEIGHT = 16 + LANES.length * LANE;

export interface StripLayout {
  x: (index: number) => number;
  cell: number;
  groups: { group: number | null; from: number; to: number }[];
}

/** All leaves side by side, a gap between groups; columns are those of the whole machine's plot. */
export function stripLayout(leaves: LeafWorst[], machine: Machine, width: number): StripLayout {
  const cell = (width - GUTTER - 8) / Math.max(1, leaves.length);
  const groups: StripLayout["groups"] = [];
  leaves.forEach(({ leaf }, i) => {
    const group = machine.group[leaf] ?? null;
    const last = groups.at(-1);
    if (last && last.group === group) last.to = i + 1;
    else groups.push({ group, from: i, to: i + 1 });
  });
  return { x: (index) => GUTTER + index * cell, cell, groups };
}

export function drawStrip(
  context: CanvasRenderingContext2D,
  layout: StripLayout,
  leaves: LeafWorst[],
  slice: number | null,
  { palette, measure }: TreePaint,
): void {
  LANES.forEach(({ key, label }, lane) => {
    const y = 16 + lane * LANE;
    context.font = font(11);
    context.fillStyle = palette.ink3;
    context.textAlign = "left";
    context.fillText(label, 0, y + 9);
    leaves.forEach((leaf, i) => {
      const value = leaf[key];
      const gap = layout.cell > 3 ? 1 : 0;
      if (Number.isNaN(value)) {
        context.strokeStyle = palette.line;
        context.lineWidth = 1;
        context.strokeRect(layout.x(i) + 0.5, y + 0.5, layout.cell - gap - 1, LANE - 3);
      } else {
        context.fillStyle = measureColour(measure, value, palette.theme);
        context.fillRect(layout.x(i), y, layout.cell - gap, LANE - 2);
      }
    });
  });
  for (const { group, from, to } of layout.groups) {
    if (group === null) continue;
    const chosen = group === slice;
    context.font = font(11, chosen ? 650 : 400);
    context.fillStyle = chosen ? palette.accent : palette.ink3;
    if (layout.x(to) - layout.x(from) > 44) context.fillText(`Pod ${group}`, layout.x(from), 11);
    if (!chosen) continue;
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(layout.x(from) - 2, 14, layout.x(to) - layout.x(from) + 3, LANES.length * LANE + 1);
  }
}

export function stripAt(layout: StripLayout, leaves: LeafWorst[], x: number): LeafWorst | null {
  return leaves[Math.floor((x - GUTTER) / layout.cell)] ?? null;
}
