/**
 * Links of a tree too large for a stroke each: half edges whose ends fall into the same columns of pixels are one line with the worst
 * ratio of them (State), drawn into an array of pixels (drawing). Which line is on top of a pixel is worked out once for a layout.
 */
import type { TreeLayout } from "./treeLayout";
import { ratioOf, type HalfEdge, type Tree } from "./tree";

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
    // Both directions of a cable stand beside each other: across the line, the down link above.
    const beside = down ? -scale : 0;
    let px = x0 * scale + (Math.abs(dy) > Math.abs(dx) ? beside : 0);
    let py = y0 * scale + (Math.abs(dy) > Math.abs(dx) ? 0 : beside);
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
