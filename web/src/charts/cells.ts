/** Cells on a canvas, for tiles and matrices: fills, one path per colour, and outlines of jobs, selection and hover. */
import type { Edge } from "./arrange";
import type { Palette } from "./palette";
import { CHANGE, HEAT, NOT_SAMPLED, SILENT } from "./scale";

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

export type Geometry = (cell: number) => Rect;

const buckets: number[][] = Array.from({ length: 256 }, () => []);

/** Draws the cells whose code differs from `drawn` (all if `drawn` is null) and remembers what was drawn. */
export function drawCells(
  context: CanvasRenderingContext2D,
  codes: Uint8Array,
  drawn: Uint8Array | null,
  geometry: Geometry,
  palette: Palette,
  difference: boolean,
): number {
  let changed = 0;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number;
    if (drawn && drawn[i] === code) continue;
    (buckets[code] as number[]).push(i);
    changed++;
  }
  if (drawn) drawn.set(codes);
  const colours = (difference ? CHANGE : HEAT)[palette.theme];
  for (let code = 0; code < 256 && changed; code++) {
    const cells = buckets[code] as number[];
    if (!cells.length) continue;
    const colour = colours[code];
    if (colour) {
      context.fillStyle = colour;
      for (const cell of cells) {
        const { x, y, w, h } = geometry(cell);
        context.fillRect(x, y, w, h);
      }
    } else if (code === SILENT) cells.forEach((cell) => hatch(context, geometry(cell), palette));
    else if (code === NOT_SAMPLED) cells.forEach((cell) => hairline(context, geometry(cell), palette));
    cells.length = 0;
  }
  return changed;
}

function clear(context: CanvasRenderingContext2D, { x, y, w, h }: Rect, palette: Palette): void {
  context.fillStyle = palette.surface;
  context.fillRect(x, y, w, h);
}

/** Silent: it was counted before and says nothing now. */
export function hatch(context: CanvasRenderingContext2D, rect: Rect, palette: Palette): void {
  clear(context, rect, palette);
  context.save();
  context.beginPath();
  context.rect(rect.x, rect.y, rect.w, rect.h);
  context.clip();
  context.strokeStyle = palette.ink3;
  context.lineWidth = 0.8;
  context.beginPath();
  for (let d = -rect.h; d < rect.w; d += 3) {
    context.moveTo(rect.x + d, rect.y + rect.h);
    context.lineTo(rect.x + d + rect.h, rect.y);
  }
  context.stroke();
  context.restore();
}

/** Not sampled: no counter ever; an outline without a fill, a dot where a cell is too small for one. */
export function hairline(context: CanvasRenderingContext2D, rect: Rect, palette: Palette): void {
  clear(context, rect, palette);
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  if (rect.w >= 5 && rect.h >= 5) context.strokeRect(rect.x + 0.5, rect.y + 0.5, rect.w - 1, rect.h - 1);
  else {
    context.fillStyle = palette.lineStrong;
    context.fillRect(rect.x + rect.w / 2 - 1, rect.y + rect.h / 2 - 0.5, 2, 1);
  }
}

// The canvas above the heat: jobs, selection and hover as outlines, so that heat is never covered.

/** Outlines of jobs on one picture: the first is solid, and each further one has dashes of its own. */
export const DASHES: readonly number[][] = [[], [2, 3], [8, 3], [8, 3, 1.5, 3]];

export interface JobOutline {
  edges: Edge[];
  /** Place of its pattern in DASHES. */
  dash: number;
}

export interface OverlayState {
  jobs: JobOutline[];
  selected: number | null;
  hovered: number | null;
}

/** Adds one edge of a router's cell to the current path. */
export type EdgePath = (context: CanvasRenderingContext2D, edge: Edge) => void;
/** Adds the whole outline of a router's cell to the current path, grown by some pixels. */
export type CellPath = (context: CanvasRenderingContext2D, router: number, grow: number) => void;

export interface CellShape {
  edge: EdgePath;
  cell: CellPath;
}

export const rectShape = (rectOf: (router: number) => Rect): CellShape => ({
  edge: (context, { router, side }) => {
    const { x, y, w, h } = rectOf(router);
    const [left, top, right, bottom] = [x - 0.5, y - 0.5, x + w + 0.5, y + h + 0.5];
    if (side === 0) line(context, left, top, right, top);
    else if (side === 1) line(context, right, top, right, bottom);
    else if (side === 2) line(context, left, bottom, right, bottom);
    else line(context, left, top, left, bottom);
  },
  cell: (context, router, grow) => {
    const { x, y, w, h } = rectOf(router);
    context.rect(x - grow, y - grow, w + 2 * grow, h + 2 * grow);
  },
});

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

function stroke(context: CanvasRenderingContext2D, colour: string, width: number, path: () => void): void {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  path();
  context.stroke();
}

export function drawOverlay(
  context: CanvasRenderingContext2D,
  shape: CellShape,
  state: OverlayState,
  palette: Palette,
): void {
  context.lineCap = "square";
  for (const job of state.jobs) {
    const path = () => job.edges.forEach((edge) => shape.edge(context, edge));
    stroke(context, palette.surface, 3.5, path);
    context.setLineDash(DASHES[job.dash] ?? []);
    stroke(context, palette.accent, 1.75, path);
    context.setLineDash([]);
  }
  const { selected, hovered } = state;
  if (hovered !== null && hovered !== selected) {
    stroke(context, palette.surface, 3, () => shape.cell(context, hovered, 1));
    stroke(context, palette.ink, 1.25, () => shape.cell(context, hovered, 1));
  }
  if (selected !== null) {
    stroke(context, palette.surface, 5, () => shape.cell(context, selected, 1.5));
    stroke(context, palette.ink, 2, () => shape.cell(context, selected, 1.5));
  }
}
