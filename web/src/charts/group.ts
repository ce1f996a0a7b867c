/**
 * A group close up (State, layout, drawing): its routers with their values, and its links as squares of sender by receiver.
 *
 * Links along a column (black on Cray XC) make one square per column, links along a row (green) one square per row. A group without
 * rows and columns, as on a Slingshot machine, makes one square of all its routers.
 */
import { shortRatio } from "../lib/format";
import type { Arrangement } from "./arrange";
import { hairline, hatch, type Rect } from "./cells";
import { font, type Palette } from "./palette";
import { CHANGE, changeColour, changeFactor, HEAT, heatColour, SILENT, textOn } from "./scale";
import type { RouterWindow } from "./window";

export interface GroupLink {
  src: number;
  dst: number;
  /** Worst of the parallel links. */
  ratio: number;
  /** How that changed (`changeFactor`; NaN: nothing to compare with); null if windows are not compared. */
  factor: number | null;
  links: number;
  linkClass: string;
}

interface LinkColumns {
  src: (number | null)[];
  dst: (number | null)[];
  class: string[];
  flits: (number | null)[];
  stall_cycles: (number | null)[];
}

export const linkKey = (src: number, dst: number) => `${src} ${dst}`;

/** Links between routers of one group, parallel ones joined by their worst ratio; with `before`, how that changed. */
export function groupLinks(
  columns: LinkColumns,
  members: ReadonlySet<number>,
  before: LinkColumns | null = null,
): Map<string, GroupLink> {
  const found = joined(columns, members);
  if (!before) return found;
  const earlier = joined(before, members);
  for (const [key, link] of found) link.factor = changeFactor(link.ratio, earlier.get(key)?.ratio ?? NaN);
  return found;
}

function joined(columns: LinkColumns, members: ReadonlySet<number>): Map<string, GroupLink> {
  const found = new Map<string, GroupLink>();
  columns.class.forEach((linkClass, i) => {
    const [src, dst, flits] = [columns.src[i], columns.dst[i], columns.flits[i]];
    if (src == null || dst == null || flits == null || !members.has(src) || !members.has(dst)) return;
    const value = flits > 0 ? (columns.stall_cycles[i] ?? 0) / flits : 0;
    const old = found.get(linkKey(src, dst));
    if (old) {
      old.ratio = Math.max(old.ratio, value);
      old.links++;
    } else found.set(linkKey(src, dst), { src, dst, ratio: value, factor: null, links: 1, linkClass });
  });
  return found;
}

/** One square: senders across, receivers down. */
export interface Square {
  label: string;
  routers: number[];
  x: number;
  y: number;
  cellWidth: number;
  cellHeight: number;
}

export interface Band {
  title: string;
  note: string;
  y: number;
  squares: Square[];
}

export interface GroupLayout {
  panel: number;
  left: number;
  top: number;
  cellWidth: number;
  cellHeight: number;
  bands: Band[];
}

const TITLE = 20;

export function groupLayout(arrangement: Arrangement, panel: number, width: number, height: number): GroupLayout {
  const shape = arrangement.panels[panel];
  const { rows = 1, cols = 1, routers = [] } = shape ?? {};
  const at = (row: number, col: number) =>
    routers.find((r) => arrangement.rowOf[r] === row && arrangement.colOf[r] === col) ?? -1;
  const left = 28;
  const top = TITLE + 22;
  const cellWidth = Math.max(6, Math.floor((width - left) / cols));
  const matrixed =
    shape !== undefined && shape.group !== null && rows > 1 && cols > 1 && rows * cols === routers.length;
  const cellHeight = Math.max(
    10,
    Math.min(matrixed ? 42 : 56, Math.floor((height * (matrixed ? 0.44 : 0.5) - top) / rows)),
  );
  const below = top + rows * cellHeight;
  const bands: Band[] = [];
  if (matrixed) {
    const blackHeight = Math.max(3, Math.min(10, Math.floor(((height - below) * 0.3) / rows)));
    const blackWidth = Math.max(2, Math.floor((cellWidth - 5) / rows));
    bands.push({
      title: "Black links",
      note: `one square per column; across: sending row, down: receiving row; the worst of parallel links`,
      y: below + 12,
      squares: Array.from({ length: cols }, (_, col) => ({
        label: "",
        routers: Array.from({ length: rows }, (_, row) => at(row, col)),
        x: left + col * cellWidth,
        y: below + 12 + TITLE + 2,
        cellWidth: blackWidth,
        cellHeight: blackHeight,
      })),
    });
    const greenY = below + 12 + TITLE + rows * blackHeight + 16;
    const pitch = Math.floor((width - left) / rows);
    const greenWidth = Math.max(2, Math.floor((pitch - 8) / cols));
    const greenHeight = Math.max(2, Math.min(greenWidth + 1, Math.floor((height - greenY - TITLE - 18) / cols)));
    bands.push({
      title: "Green links",
      note: "one square per row; across: sending column, down: receiving column",
      y: greenY,
      squares: Array.from({ length: rows }, (_, row) => ({
        label: `row ${row}`,
        routers: Array.from({ length: cols }, (_, col) => at(row, col)),
        x: left + row * pitch,
        y: greenY + TITLE + 2,
        cellWidth: greenWidth,
        cellHeight: greenHeight,
      })),
    });
  } else {
    const ordered = [...routers].sort((a, b) => a - b);
    const cell = Math.max(
      1,
      Math.floor(
        Math.min((width - left) / Math.max(1, ordered.length), (height - below - 52) / Math.max(1, ordered.length), 16),
      ),
    );
    bands.push({
      title: "Links within",
      note: "across: sending router, down: receiving router; the worst of parallel links",
      y: below + 12,
      squares: [{ label: "", routers: ordered, x: left, y: below + 12 + TITLE + 2, cellWidth: cell, cellHeight: cell }],
    });
  }
  return { panel, left, top, cellWidth, cellHeight, bands };
}

export function groupRect(layout: GroupLayout, arrangement: Arrangement, router: number): Rect {
  return {
    x: layout.left + (arrangement.colOf[router] as number) * layout.cellWidth,
    y: layout.top + (arrangement.rowOf[router] as number) * layout.cellHeight,
    w: layout.cellWidth - 2,
    h: layout.cellHeight - 2,
  };
}

export type GroupHit = { router: number } | { src: number; dst: number } | null;

export function groupAt(layout: GroupLayout, arrangement: Arrangement, x: number, y: number): GroupHit {
  const col = Math.floor((x - layout.left) / layout.cellWidth);
  const row = Math.floor((y - layout.top) / layout.cellHeight);
  const routers = arrangement.panels[layout.panel]?.routers ?? [];
  const router = routers.find((r) => arrangement.rowOf[r] === row && arrangement.colOf[r] === col);
  if (router !== undefined) return { router };
  for (const square of layout.bands.flatMap((band) => band.squares)) {
    const a = Math.floor((x - square.x) / square.cellWidth);
    const b = Math.floor((y - square.y) / square.cellHeight);
    const [src, dst] = [square.routers[a], square.routers[b]];
    if (a >= 0 && b >= 0 && a !== b && src !== undefined && dst !== undefined) return { src, dst };
  }
  return null;
}

export function drawGroup(
  context: CanvasRenderingContext2D,
  layout: GroupLayout,
  arrangement: Arrangement,
  window: RouterWindow,
  links: Map<string, GroupLink>,
  label: string,
  palette: Palette,
  size: { width: number; height: number },
): void {
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, size.width, size.height);
  const panel = arrangement.panels[layout.panel];
  if (!panel) return;
  heading(context, palette, label, "all counted tiles of a router together", TITLE - 7, size.width);
  context.font = font(11);
  context.fillStyle = palette.ink3;
  context.textAlign = "center";
  const every = layout.cellWidth < 16 ? 4 : 1;
  for (let col = 0; col < panel.cols; col += every)
    context.fillText(String(col), layout.left + (col + 0.5) * layout.cellWidth - 1, layout.top - 6);
  context.textAlign = "right";
  for (let row = 0; row < panel.rows; row++)
    context.fillText(String(row), layout.left - 10, layout.top + (row + 0.5) * layout.cellHeight + 3);
  for (const router of panel.routers)
    routerCell(context, groupRect(layout, arrangement, router), window, router, palette);
  for (const band of layout.bands) {
    heading(context, palette, band.title, band.note, band.y + 13, size.width);
    for (const square of band.squares) drawSquare(context, square, links, palette);
  }
  context.textAlign = "left";
}

/** As many clauses of a note, from the first, as there is room for. */
export function fitting(note: string, fits: (text: string) => boolean): string {
  const clauses = note.split("; ");
  while (clauses.length && !fits(clauses.join("; "))) clauses.pop();
  return clauses.join("; ");
}

function heading(
  context: CanvasRenderingContext2D,
  palette: Palette,
  title: string,
  note: string,
  y: number,
  width: number,
): void {
  context.textAlign = "left";
  context.font = font(13, 620);
  context.fillStyle = palette.ink;
  context.fillText(title, 0, y);
  const x = context.measureText(title).width + 10;
  context.font = font(12);
  context.fillStyle = palette.ink3;
  context.fillText(
    fitting(note, (text) => x + context.measureText(text).width <= width),
    x,
    y,
  );
}

function routerCell(
  context: CanvasRenderingContext2D,
  rect: Rect,
  window: RouterWindow,
  router: number,
  palette: Palette,
): void {
  const code = window.codes[router] as number;
  const colour = (window.factor ? CHANGE : HEAT)[palette.theme][code];
  if (!colour) {
    if (code === SILENT) hatch(context, rect, palette);
    else hairline(context, rect, palette);
    return;
  }
  context.fillStyle = colour;
  context.fillRect(rect.x, rect.y, rect.w, rect.h);
  const text = window.factor ? `×${shortRatio(window.factor[router])}` : shortRatio(window.ratio[router]);
  context.font = font(12, 500);
  // All cells have their figures, or none: those that happen to be narrow are not singled out.
  if (context.measureText(window.factor ? "×0.0" : "0.0").width > rect.w - 2) return;
  context.fillStyle = textOn(colour);
  context.textAlign = "center";
  context.fillText(text, rect.x + rect.w / 2, rect.y + rect.h / 2 + 4);
}

function drawSquare(
  context: CanvasRenderingContext2D,
  square: Square,
  links: Map<string, GroupLink>,
  palette: Palette,
): void {
  const gap = square.cellWidth > 3 && square.cellHeight > 3 ? 1 : 0;
  square.routers.forEach((src, a) =>
    square.routers.forEach((dst, b) => {
      if (a === b) return;
      const rect = {
        x: square.x + a * square.cellWidth,
        y: square.y + b * square.cellHeight,
        w: square.cellWidth - gap,
        h: square.cellHeight - gap,
      };
      const link = links.get(linkKey(src, dst));
      if (!link || Number.isNaN(link.factor)) return hairline(context, rect, palette);
      context.fillStyle =
        link.factor === null ? heatColour(link.ratio, palette.theme) : changeColour(link.factor, palette.theme);
      context.fillRect(rect.x, rect.y, rect.w, rect.h);
    }),
  );
  if (!square.label) return;
  context.font = font(11);
  context.fillStyle = palette.ink3;
  context.textAlign = "left";
  context.fillText(square.label, square.x, square.y + square.routers.length * square.cellHeight + 12);
}
