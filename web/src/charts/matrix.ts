/** The matrix of groups: the column sends, the row receives (State, layout, drawing). */
import { drawCells, type Rect } from "./cells";
import { font, type Palette } from "./palette";
import { changeFactor, changeStep, heatStep, NOT_SAMPLED } from "./scale";

export interface Pair {
  src: number;
  dst: number;
  flits: number;
  stalls: number;
  ratio: number;
  /** Change against the other window (`changeFactor`), if there is one. */
  factor: number;
}

export interface Pairs {
  /** Group numbers in the order of the axes. */
  groups: number[];
  /** cell = row (receiver) × groups + column (sender); null: no link or no counter. */
  cells: (Pair | null)[];
}

interface PairColumns {
  src: number[];
  dst: number[];
  flits: (number | null)[];
  stall_cycles: (number | null)[];
}

export function pairsOf(groups: number[], columns: PairColumns, before: PairColumns | null = null): Pairs {
  const at = new Map(groups.map((group, i) => [group, i]));
  const n = groups.length;
  const cells: (Pair | null)[] = new Array<Pair | null>(n * n).fill(null);
  const cellOf = (src: number | undefined, dst: number | undefined) => {
    const column = at.get(src ?? NaN);
    const row = at.get(dst ?? NaN);
    return column === undefined || row === undefined ? -1 : row * n + column;
  };
  columns.src.forEach((src, i) => {
    const dst = columns.dst[i] as number;
    const cell = cellOf(src, dst);
    const flits = columns.flits[i] ?? null;
    if (cell < 0 || flits === null || src === dst) return;
    const stalls = columns.stall_cycles[i] ?? 0;
    cells[cell] = { src, dst, flits, stalls, ratio: flits > 0 ? stalls / flits : 0, factor: NaN };
  });
  before?.src.forEach((src, i) => {
    const pair = cells[cellOf(src, before.dst[i])];
    const flits = before.flits[i] ?? null;
    if (pair && flits !== null && flits > 0) {
      pair.factor = changeFactor(pair.ratio, (before.stall_cycles[i] ?? 0) / flits);
    }
  });
  return { groups, cells };
}

export const hottestPairs = (pairs: Pairs): Pair[] =>
  pairs.cells.filter((pair): pair is Pair => pair !== null).sort((a, b) => b.ratio - a.ratio);

export interface MatrixLayout {
  cell: number;
  left: number;
  top: number;
  size: number;
  /** Every how many groups the axis names one. */
  every: number;
}

export function matrixLayout(groups: number, width: number): MatrixLayout {
  const left = 28;
  const top = 16;
  const cell = Math.max(2, Math.min(30, Math.floor((width - left) / Math.max(1, groups))));
  return { cell, left, top, size: cell * groups, every: cell >= 16 ? 1 : cell >= 9 ? 2 : cell >= 6 ? 4 : 8 };
}

export function matrixRect({ cell, left, top }: MatrixLayout, groups: number, index: number): Rect {
  const gap = cell > 3 ? 1 : 0;
  return {
    x: left + (index % groups) * cell,
    y: top + Math.floor(index / groups) * cell,
    w: cell - gap,
    h: cell - gap,
  };
}

export function matrixAt(
  layout: MatrixLayout,
  groups: number,
  x: number,
  y: number,
): { column: number; row: number } | null {
  const column = Math.floor((x - layout.left) / layout.cell);
  const row = Math.floor((y - layout.top) / layout.cell);
  return column >= 0 && row >= 0 && column < groups && row < groups ? { column, row } : null;
}

const EMPTY = 255;

export function pairCodes(pairs: Pairs, difference: boolean): Uint8Array {
  const n = pairs.groups.length;
  return Uint8Array.from(pairs.cells, (pair, i) => {
    if (i % n === Math.floor(i / n)) return EMPTY;
    if (!pair) return NOT_SAMPLED;
    if (!difference) return heatStep(pair.ratio);
    return Number.isNaN(pair.factor) ? NOT_SAMPLED : changeStep(pair.factor);
  });
}

export interface MatrixMarks {
  selected: number | null;
  job: ReadonlySet<number>;
  hovered: { column: number; row: number } | null;
}

export function drawMatrix(
  context: CanvasRenderingContext2D,
  layout: MatrixLayout,
  pairs: Pairs,
  marks: MatrixMarks,
  difference: boolean,
  palette: Palette,
): void {
  const { groups } = pairs;
  const n = groups.length;
  const { left, top, cell, size, every } = layout;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, left + size + 8, top + size + 8);
  drawCells(context, pairCodes(pairs, difference), null, (i) => matrixRect(layout, n, i), palette, difference);
  const chosen = marks.selected === null ? -1 : groups.indexOf(marks.selected);
  groups.forEach((group, i) => {
    if (marks.job.has(group)) {
      context.fillStyle = palette.accent;
      context.fillRect(left + i * cell, top - 3, cell - 1, 2);
      context.fillRect(left - 3, top + i * cell, 2, cell - 1);
    }
    const isChosen = i === chosen;
    if (!isChosen && (i % every || (every > 1 && chosen >= 0 && Math.abs(i - chosen) * cell < 22))) return;
    context.font = font(11, isChosen ? 650 : 400);
    context.fillStyle = isChosen ? palette.accent : palette.ink3;
    context.textAlign = "center";
    context.fillText(String(group), left + (i + 0.5) * cell, top - 5);
    context.textAlign = "right";
    context.fillText(String(group), left - 5, top + (i + 0.5) * cell + 4);
  });
  context.textAlign = "left";
  if (chosen >= 0) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 1;
    context.strokeRect(left + chosen * cell - 0.5, top - 0.5, cell, size);
    context.strokeRect(left - 0.5, top + chosen * cell - 0.5, size, cell);
  }
  if (marks.hovered) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 1.5;
    context.strokeRect(left + marks.hovered.column * cell - 1, top + marks.hovered.row * cell - 1, cell + 1, cell + 1);
  }
}
