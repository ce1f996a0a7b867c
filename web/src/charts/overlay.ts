/** The canvas above the heat: jobs, selection and hover as outlines, so that heat is never covered. */
import type { Rect } from "./cells";
import type { Edge } from "./outline";
import type { Palette } from "./palette";

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
