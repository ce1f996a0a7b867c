/** Tiles: every panel of the arrangement as a grid of cells (layout and drawing). */
import { change, ratio } from "../lib/format";
import type { Arrangement } from "./arrange";
import { drawCells, type Rect } from "./cells";
import { font, type Palette } from "./palette";
import type { PanelFigures, RouterWindow } from "./window";

export interface TilesLayout {
  columns: number;
  cellWidth: number;
  cellHeight: number;
  panelWidth: number;
  panelHeight: number;
  width: number;
  height: number;
}

const LABEL = 18;
const GAP_X = 12;
const GAP_Y = 8;
/** Of a cell: wide ones let a machine of few groups fill its card. */
const MOST_WIDE = 2;
const MOST_TALL = 1.6;
const MOST_PX = 72;

/** The number of columns that gives cells the largest area while they stay between 1:1.6 and 2:1. */
export function tilesLayout(arrangement: Arrangement, width: number, height: number): TilesLayout {
  const { panels, rows, cols } = arrangement;
  let best: TilesLayout | null = null;
  let bestArea = -1;
  for (let columns = 1; columns <= Math.min(panels.length, 24); columns++) {
    const lines = Math.ceil(panels.length / columns);
    const fitWidth = Math.floor((width / columns - GAP_X) / cols);
    const fitHeight = Math.floor((height / lines - LABEL - GAP_Y) / rows);
    const cellWidth = Math.min(fitWidth, Math.round(fitHeight * MOST_WIDE), MOST_PX);
    const cellHeight = Math.min(fitHeight, Math.round(cellWidth * MOST_TALL), MOST_PX);
    const area = cellWidth * cellHeight;
    if (cellWidth < 2 || cellHeight < 2 || area <= bestArea) continue;
    bestArea = area;
    const used = cols * cellWidth;
    best = {
      columns,
      cellWidth,
      cellHeight,
      width,
      height,
      panelWidth: columns === 1 ? width - 2 : Math.min(Math.floor((width - used - 2) / (columns - 1)), used + 40),
      panelHeight: Math.min(Math.floor(height / lines), rows * cellHeight + LABEL + 22),
    };
  }
  return (
    best ?? {
      columns: 1,
      cellWidth: 2,
      cellHeight: 2,
      panelWidth: cols * 2 + GAP_X,
      panelHeight: rows * 2 + LABEL,
      width,
      height,
    }
  );
}

export function panelOrigin(layout: TilesLayout, panel: number): { x: number; y: number } {
  return {
    x: 2 + (panel % layout.columns) * layout.panelWidth,
    y: Math.floor(panel / layout.columns) * layout.panelHeight,
  };
}

/** The cell of a router, without the hairline between cells. */
export function tileRect(layout: TilesLayout, arrangement: Arrangement, router: number): Rect {
  const panel = arrangement.panelOf[router] as number;
  const gap = layout.cellWidth >= 4 && layout.cellHeight >= 4 ? 1 : 0;
  return {
    x: 2 + (panel % layout.columns) * layout.panelWidth + (arrangement.colOf[router] as number) * layout.cellWidth,
    y:
      Math.floor(panel / layout.columns) * layout.panelHeight +
      LABEL +
      (arrangement.rowOf[router] as number) * layout.cellHeight,
    w: layout.cellWidth - gap,
    h: layout.cellHeight - gap,
  };
}

export interface TileHit {
  panel: number;
  router: number | null;
}

export function tileAt(
  layout: TilesLayout,
  arrangement: Arrangement,
  index: Int32Array,
  x: number,
  y: number,
): TileHit | null {
  const column = Math.floor((x - 2) / layout.panelWidth);
  const line = Math.floor(y / layout.panelHeight);
  const panel = line * layout.columns + column;
  const shape = arrangement.panels[panel];
  if (column < 0 || column >= layout.columns || line < 0 || !shape) return null;
  const { x: left, y: top } = panelOrigin(layout, panel);
  const col = Math.floor((x - left) / layout.cellWidth);
  const row = Math.floor((y - top - LABEL) / layout.cellHeight);
  if (col < 0 || col >= shape.cols || row >= shape.rows) return null;
  if (row < 0) return { panel, router: null };
  const router = index[(panel * arrangement.rows + row) * arrangement.cols + col] as number;
  return { panel, router: router >= 0 ? router : null };
}

export interface TilesMarks {
  selectedPanel: number | null;
  jobPanels: ReadonlySet<number>;
}

/** What stands at the right of a panel's name. */
export function panelText(figures: PanelFigures, difference: boolean): string {
  if (figures.counted === 0) return figures.silent ? "silent" : "not sampled";
  const value = difference ? change(figures.factor) : ratio(figures.ratio);
  return figures.counted < figures.size ? `${value} · ${figures.counted} of ${figures.size}` : value;
}

/**
 * The base canvas of tiles. A window at rest is drawn whole, so that nothing of what stood there before is left; one that moves under a
 * drag redraws only what differs from the frame before.
 */
export class TilesDrawing {
  private drawn: Uint8Array | null = null;
  private difference = false;
  private texts: string[] = [];

  constructor(
    private context: CanvasRenderingContext2D,
    readonly layout: TilesLayout,
    private arrangement: Arrangement,
    private palette: Palette,
  ) {}

  draw(window: RouterWindow, figures: PanelFigures[], marks: TilesMarks, moving = false): void {
    const difference = window.factor !== null;
    if (!this.drawn || !moving || difference !== this.difference) {
      this.difference = difference;
      this.texts = [];
      this.context.fillStyle = this.palette.surface;
      this.context.fillRect(0, 0, this.layout.width, this.layout.height);
      this.drawn = new Uint8Array(window.codes.length).fill(255);
    }
    drawCells(
      this.context,
      window.codes,
      this.drawn,
      (r) => tileRect(this.layout, this.arrangement, r),
      this.palette,
      difference,
    );
    figures.forEach((figure, p) => this.label(p, panelText(figure, difference), marks));
  }

  private label(panel: number, text: string, marks: TilesMarks): void {
    const selected = panel === marks.selectedPanel;
    const state = `${text}|${selected}|${marks.jobPanels.has(panel)}`;
    if (this.texts[panel] === state) return;
    this.texts[panel] = state;
    const { context, palette, layout, arrangement } = this;
    const shape = arrangement.panels[panel];
    if (!shape) return;
    const { x, y } = panelOrigin(layout, panel);
    const width = Math.max(shape.cols, Math.min(arrangement.cols, 12)) * layout.cellWidth;
    context.fillStyle = palette.surface;
    context.fillRect(x - 1, y, layout.panelWidth - 2, LABEL - 2);
    context.textAlign = "left";
    context.font = font(11, selected ? 650 : 500);
    context.fillStyle = selected ? palette.accent : marks.jobPanels.has(panel) ? palette.ink : palette.ink2;
    context.fillText(shape.label, x, y + 12);
    const room = width - context.measureText(shape.label).width - 8;
    context.font = font(11);
    context.fillStyle = palette.ink3;
    const short = context.measureText(text).width <= room ? text : (text.split(" · ")[0] ?? text);
    context.textAlign = "right";
    if (context.measureText(short).width <= room) context.fillText(short, x + width - 1, y + 12);
    context.textAlign = "left";
  }
}
