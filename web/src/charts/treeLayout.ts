/** Layout of a tree: its switches by level with the nodes under their leaves, numbered paths, and bundles of links as lines or pixels. */
import { levelName, type Machine } from "./arrange";
import { font, type Palette } from "./palette";
import { type HalfEdge, ratioOf, type Tree } from "./tree";

// A way through a drawn tree, numbered hop by hop: where its lines and numbers stand.

/** Ends are vertices: a switch, or the number of switches plus a node. */
export interface Hop {
  src: number;
  dst: number;
}

export interface PlacedHop {
  from: [number, number];
  to: [number, number];
  /** Where its number stands. */
  at: [number, number];
  label: string;
}

/** How far below its leaf a node's end of a hop lies, and the radius of a number. */
const [STUB, BADGE] = [26, 8];

/** Where on a hop its number may be, as shares of its length: at the first that no other number covers. */
const SPOTS = [0.5, 0.3, 0.7, 0.15, 0.85];

/** Hops whose switches are drawn, each with the number of its place on the way. */
export function placePath(layout: TreeLayout, path: readonly Hop[]): PlacedHop[] {
  const inside = (vertex: number) => vertex < layout.x.length && (layout.x[vertex] ?? -1) > 0;
  const placed: PlacedHop[] = [];
  path.forEach((hop, i) => {
    const [src, dst] = [inside(hop.src), inside(hop.dst)];
    if (!src && !dst) return;
    const place = (vertex: number, other: number): [number, number] | null =>
      inside(vertex)
        ? [layout.x[vertex] as number, layout.y[vertex] as number]
        : vertex >= layout.x.length
          ? [layout.x[other] as number, (layout.y[other] as number) + STUB]
          : null;
    const [from, to] = [place(hop.src, hop.dst), place(hop.dst, hop.src)];
    if (!from || !to) return;
    const spot = (share: number): [number, number] => [
      from[0] + share * (to[0] - from[0]),
      from[1] + share * (to[1] - from[1]),
    ];
    const free = (share: number) =>
      placed.every(({ at }) => Math.hypot(at[0] - spot(share)[0], at[1] - spot(share)[1]) >= 2 * BADGE);
    placed.push({ from, to, at: spot(SPOTS.find(free) ?? 0.5), label: String(i + 1) });
  });
  return placed;
}

export function drawPath(context: CanvasRenderingContext2D, hops: PlacedHop[], palette: Palette): void {
  const stroke = (colour: string, width: number) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const { from, to } of hops) {
      context.moveTo(...from);
      context.lineTo(...to);
    }
    context.stroke();
  };
  stroke(palette.surface, 4);
  stroke(palette.accent, 2);
  context.font = font(11);
  context.textAlign = "center";
  for (const { at, label } of hops) {
    context.fillStyle = palette.accent;
    context.beginPath();
    context.arc(...at, BADGE, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = palette.surface;
    context.fillText(label, at[0], at[1] + 4);
  }
  context.textAlign = "left";
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

/** Pixels next to a line that are still on it. */
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

// Links of a tree too large for a stroke each: half edges whose ends fall into the same columns of pixels are one line with the worst
// ratio of them (State), drawn into an array of pixels (drawing). Which line is on top of a pixel is worked out once for a layout.

/** With more half edges than this, lines lie over each other and strokes cost more than a frame. */
export const MOST_STROKES = 20_000;
/** Pixels of all lines together that an array takes within a frame. */
const MOST_PIXELS = 3_000_000;
/** Beyond any tree's levels and any screen's pixels: parts of a key stay apart. */
const [MOST_ROWS, MOST_COLUMNS] = [64, 65_536];

export interface Bundle {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  /** Down links stand on the upper side. */
  down: boolean;
  halves: HalfEdge[];
}

/** Bundles of all half edges with links, in columns as narrow as the number of lines allows. */
export function bundlesOf(tree: Tree, layout: TreeLayout): Bundle[] {
  for (let cell = 1; ; cell *= 2) {
    const found = inColumns(tree, layout, cell);
    if (pixelsOf(found) <= MOST_PIXELS || cell >= layout.width) return found;
  }
}

const pixelsOf = (bundles: readonly Bundle[]) =>
  bundles.reduce((sum, { x0, y0, x1, y1 }) => sum + Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)), 0);

function inColumns(tree: Tree, { x, y }: TreeLayout, cell: number): Bundle[] {
  const found = new Map<number, Bundle>();
  const rows = new Map<number, number>();
  const rowOf = (at: number) => rows.get(at) ?? (rows.set(at, rows.size), rows.size - 1);
  for (const { lower, upper, up, down } of tree.edges) {
    const [x0, y0, x1, y1] = [x[lower], y[lower], x[upper], y[upper]] as [number, number, number, number];
    const [a, b] = [Math.floor(x0 / cell), Math.floor(x1 / cell)];
    for (const half of [down, up]) {
      if (!half.links) continue;
      const row = rowOf(y0) * MOST_ROWS + rowOf(y1);
      const key = ((row * 2 + (half === down ? 1 : 0)) * MOST_COLUMNS + a) * MOST_COLUMNS + b;
      const old = found.get(key);
      if (old) old.halves.push(half);
      else found.set(key, { x0, y0, x1, y1, down: half === down, halves: [half] });
    }
  }
  return [...found.values()];
}

/** The worst ratio of a bundle; below 0 if none of it is counted, as `ratioOf` has it. */
export const worstOf = ({ halves }: Bundle): number => {
  let worst = -1;
  for (const half of halves) worst = Math.max(worst, ratioOf(half));
  return worst;
};

/** Pixels of a picture, and how many of them are a unit of the layout. */
export interface Shape {
  width: number;
  height: number;
  scale: number;
}

/** A rectangle of the layout and its ratio; below 0 if that is unknown. */
export interface Rectangle {
  x: number;
  y: number;
  w: number;
  h: number;
  ratio: number;
}

/** Who is seen where: for each pixel the part on top of it, and the ratio of each part. It holds until the tree or the size changes. */
export interface Traced {
  /** One more than the part's place in `ratios`; 0 if there is none. */
  top: Uint32Array;
  ratios: Float64Array;
}

/** Lines of one pixel, those with the higher ratio over the others, and rectangles over them. */
export function traced(shape: Shape, bundles: readonly Bundle[], rectangles: readonly Rectangle[]): Traced {
  const { width, height, scale } = shape;
  const top = new Uint32Array(width * height);
  const ratios = new Float64Array(bundles.length + rectangles.length);
  bundles.forEach((bundle, i) => (ratios[i] = worstOf(bundle)));
  const order = Uint32Array.from(bundles, (_, i) => i).sort((a, b) => (ratios[a] as number) - (ratios[b] as number));
  for (const i of order) {
    const { x0, y0, x1, y1, down } = bundles[i] as Bundle;
    const [dx, dy] = [(x1 - x0) * scale, (y1 - y0) * scale];
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(dx), Math.abs(dy))));
    // Both directions of a cable are next to each other: across the line, the down link above.
    const across = down ? -scale : 0;
    let px = x0 * scale + (Math.abs(dy) > Math.abs(dx) ? across : 0);
    let py = y0 * scale + (Math.abs(dy) > Math.abs(dx) ? 0 : across);
    const [stepX, stepY] = [dx / steps, dy / steps];
    for (let k = 0; k <= steps; k++, px += stepX, py += stepY) {
      const [column, row] = [px | 0, py | 0];
      if (column >= 0 && column < width && row >= 0 && row < height) top[row * width + column] = i + 1;
    }
  }
  rectangles.forEach((rectangle, i) => {
    ratios[bundles.length + i] = rectangle.ratio;
    fill(top, shape, rectangle, bundles.length + i + 1);
  });
  return { top, ratios };
}

/** At least a pixel wide and high where the rectangle begins in sight. */
function fill(top: Uint32Array, { width, height, scale }: Shape, { x, y, w, h }: Rectangle, part: number): void {
  const [left, above] = [Math.round(x * scale), Math.round(y * scale)];
  const right = Math.min(width, Math.max(left + 1, Math.round((x + w) * scale)));
  const bottom = Math.min(height, Math.max(above + 1, Math.round((y + h) * scale)));
  for (let row = Math.max(0, above); row < bottom; row++)
    for (let column = Math.max(0, left); column < right; column++) top[row * width + column] = part;
}

/** Colours every pixel, `ground` if no part is seen: one look-up a pixel, however many links there are. */
export function colourParts(
  values: Uint32Array,
  { top, ratios }: Traced,
  ground: number,
  colourOf: (ratio: number) => number,
): void {
  const colours = new Uint32Array(ratios.length + 1);
  colours[0] = ground;
  for (let i = 0; i < ratios.length; i++) colours[i + 1] = colourOf(ratios[i] as number);
  for (let i = 0; i < top.length; i++) values[i] = colours[top[i] as number] as number;
}

/** `pixelOf` of colours that come again and again. */
export function rememberedPixels(): (css: string) => number {
  const known = new Map<string, number>();
  return (css) => {
    const old = known.get(css);
    if (old !== undefined) return old;
    const pixel = pixelOf(css);
    known.set(css, pixel);
    return pixel;
  };
}

/** A colour of CSS (#rgb as style sheets are shortened to, #rrggbb, rgb) as pixels hold it: red lowest, opaque. */
export function pixelOf(css: string): number {
  const hex = css.length === 4 ? css.replace(/[^#]/g, "$&$&") : css;
  const numbers = css.startsWith("#")
    ? [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
    : (css.match(/\d+/g) ?? []).slice(0, 3).map(Number);
  const [red = 0, green = 0, blue = 0] = numbers;
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
