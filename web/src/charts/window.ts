/** What a window of time says about every router (State, no pixels): sums, ratios and the code that picks a cell's look. */
import type { Sums } from "../lib/prefix";
import { changeFactor, changeStep, heatStep, NOT_SAMPLED, SILENT } from "./scale";
import type { Arrangement } from "./arrange";

export interface RouterWindow {
  flits: Float64Array;
  stalls: Float64Array;
  /** Stall cycles per flit; NaN if unknown; 0 if a counted router moved nothing. */
  ratio: Float64Array;
  coverage: Float32Array;
  /** Set in difference mode: how this window's ratio changed against the other's (`changeFactor`). */
  factor: Float64Array | null;
  codes: Uint8Array;
}

export interface PanelFigures {
  flits: number;
  stalls: number;
  ratio: number;
  factor: number;
  counted: number;
  silent: number;
  size: number;
}

const ratioOf = (flits: number, stalls: number, coverage: number) =>
  coverage > 0 ? (flits > 0 ? stalls / flits : stalls > 0 ? Infinity : 0) : NaN;

/** Room for what a window says of every router. */
export interface Columns {
  ratio: Float64Array;
  factor: Float64Array;
  codes: Uint8Array;
}

export const emptyColumns = (size: number): Columns => ({
  ratio: new Float64Array(size),
  factor: new Float64Array(size),
  codes: new Uint8Array(size),
});

/** A window that moves is written into the same columns with each frame: to allot them anew keeps the garbage collector busy. */
export function routerWindow(
  sums: Sums,
  sampled: boolean[],
  before: Sums | null = null,
  into: Columns | null = null,
): RouterWindow {
  const size = sums.flits.length;
  const { ratio, codes, ...columns } = into ?? emptyColumns(size);
  const factor = before ? columns.factor : null;
  for (let r = 0; r < size; r++) {
    const value = ratioOf(sums.flits[r] as number, sums.stalls[r] as number, sums.coverage[r] as number);
    ratio[r] = value;
    if (Number.isNaN(value)) {
      codes[r] = sampled[r] ? SILENT : NOT_SAMPLED;
      if (factor) factor[r] = NaN;
    } else if (factor && before) {
      const earlier = ratioOf(before.flits[r] as number, before.stalls[r] as number, before.coverage[r] as number);
      factor[r] = changeFactor(value, earlier);
      codes[r] = Number.isNaN(factor[r] as number) ? SILENT : changeStep(factor[r] as number);
    } else {
      codes[r] = heatStep(value);
    }
  }
  return { flits: sums.flits, stalls: sums.stalls, ratio, coverage: sums.coverage, factor, codes };
}

/** Figures of each panel: summed stalls over summed flits, never a mean of ratios. */
export function panelFigures(
  window: RouterWindow,
  arrangement: Arrangement,
  before: Sums | null = null,
): PanelFigures[] {
  return arrangement.panels.map((panel) => {
    let flits = 0,
      stalls = 0,
      counted = 0,
      silent = 0,
      flitsBefore = 0,
      stallsBefore = 0;
    for (const r of panel.routers) {
      if (Number.isNaN(window.ratio[r] as number)) {
        if (window.codes[r] === SILENT) silent++;
        continue;
      }
      counted++;
      flits += window.flits[r] as number;
      stalls += window.stalls[r] as number;
      if (before) {
        flitsBefore += before.flits[r] as number;
        stallsBefore += before.stalls[r] as number;
      }
    }
    const ratio = counted ? (flits > 0 ? stalls / flits : 0) : NaN;
    const factor = before && flitsBefore > 0 ? changeFactor(ratio, stallsBefore / flitsBefore) : NaN;
    return { flits, stalls, ratio, factor, counted, silent, size: panel.routers.length };
  });
}

/** Sums from a columnar answer; null becomes coverage 0. */
export function sumsOf(
  size: number,
  columns: { router: number[]; flits: (number | null)[]; stall_cycles: (number | null)[]; coverage: (number | null)[] },
): Sums {
  const sums: Sums = {
    flits: new Float64Array(size),
    stalls: new Float64Array(size),
    coverage: new Float32Array(size),
  };
  columns.router.forEach((router, i) => {
    const flits = columns.flits[i] ?? null;
    if (router < 0 || router >= size || flits === null) return;
    sums.flits[router] = flits;
    sums.stalls[router] = columns.stall_cycles[i] ?? 0;
    sums.coverage[router] = columns.coverage[i] ?? 1;
  });
  return sums;
}
