/** Drawing of cells on a canvas, for tiles and matrices alike: one path a colour. */
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
