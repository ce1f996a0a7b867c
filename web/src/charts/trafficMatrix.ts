/** Who sends to whom: bytes from column to row, drawn dark where much is sent; and what a reconstruction missed (State, layout, drawing). */
import { font, type Palette } from "./palette";
import { CHANGE, fractionColour, type Theme } from "./scale";

export type Cells = (number | null)[][];
export type MatrixPart = "true" | "reconstructed" | "difference";

/** Entries below this share of the largest are drawn as the lightest that is not nothing. */
const DECADES = 4;
/** Differences, as shares of the largest entry. */
export const DIFFERENCE_CUTS = [0.001, 0.01, 0.1] as const;

export const largest = (cells: Cells | null): number =>
  cells ? cells.reduce((most, row) => row.reduce<number>((m, v) => Math.max(m, Math.abs(v ?? 0)), most), 0) : 0;

/** 0 to 1 on a logarithmic scale of four decades below the largest. */
export function shade(value: number, most: number): number {
  if (!(value > 0) || !(most > 0)) return 0;
  return Math.max(0.06, Math.min(1, 1 + Math.log10(value / most) / DECADES));
}

/** Step of the change scale: 0 far too little, 3 right, 6 far too much. */
export function differenceStep(value: number, most: number): number {
  const share = most > 0 ? Math.abs(value) / most : 0;
  const size = DIFFERENCE_CUTS.filter((cut) => share >= cut).length;
  return value < 0 ? 3 - size : 3 + size;
}

export function cellColour(part: MatrixPart, value: number, most: number, theme: Theme): string {
  return part === "difference"
    ? (CHANGE[theme][differenceStep(value, most)] as string)
    : fractionColour(shade(value, most), theme);
}

export interface MatrixFrame {
  n: number;
  cell: number;
  left: number;
  top: number;
}

const LEFT = 26;
const TOP = 18;

export function matrixFrame(n: number, width: number): MatrixFrame {
  return { n, cell: Math.max(0.5, (width - LEFT - 2) / Math.max(1, n)), left: LEFT, top: TOP };
}

export const frameHeight = (frame: MatrixFrame): number => frame.top + frame.n * frame.cell + 4;

export function cellAt(
  { n, cell, left, top }: MatrixFrame,
  x: number,
  y: number,
): { column: number; row: number } | null {
  const [column, row] = [Math.floor((x - left) / cell), Math.floor((y - top) / cell)];
  return column >= 0 && row >= 0 && column < n && row < n ? { column, row } : null;
}

export function drawTraffic(
  context: CanvasRenderingContext2D,
  frame: MatrixFrame,
  part: MatrixPart,
  cells: Cells,
  most: number,
  palette: Palette,
): void {
  const { n, cell, left, top } = frame;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, left + n * cell + 4, frameHeight(frame));
  const gap = cell >= 6 ? 1 : 0;
  cells.forEach((row, r) =>
    row.forEach((value, c) => {
      if (value === null || (part !== "difference" && !(value > 0))) return;
      context.fillStyle = cellColour(part, value, most, palette.theme);
      context.fillRect(left + c * cell, top + r * cell, Math.max(0.6, cell - gap), Math.max(0.6, cell - gap));
    }),
  );
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.strokeRect(left - 0.5, top - 0.5, n * cell + 1, n * cell + 1);
  context.font = font(11);
  context.fillStyle = palette.ink3;
  const every = [1, 2, 4, 8, 16, 32].find((step) => step * cell >= 26) ?? 32;
  for (let i = 0; i < n; i += every) {
    context.textAlign = "center";
    context.fillText(String(i), left + (i + 0.5) * cell, top - 5);
    context.textAlign = "right";
    context.fillText(String(i), left - 5, top + (i + 0.5) * cell + 4);
  }
  context.textAlign = "left";
}
