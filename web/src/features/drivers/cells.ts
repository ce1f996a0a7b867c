/** The heat map of counters and sets as cells (State): what a cell says and how dark it is. Pure. */
import type { Deviation } from "../../api/estimateShapes";

export interface DriverCell {
  set: number;
  counter: number;
  /** Share of folds (relevance), or mean elimination rank; null: the set does not have the counter. */
  value: number | null;
  spread: number | null;
  /** 0 to 1, darker is more relevant. */
  weight: number | null;
}

export function driverCells(deviation: Deviation, show: "relevance" | "rank"): DriverCell[] {
  return deviation.sets.flatMap((one, set) =>
    deviation.counters.map((_, counter): DriverCell => {
      const values = show === "rank" ? one.rank : one.relevance;
      const value = values[counter] ?? null;
      const spread = (show === "rank" ? one.rank_spread : one.relevance_spread)[counter] ?? null;
      // A rank is held against the number of counters that the set has.
      const present = one.rank.filter((rank) => rank !== null).length;
      const weight = value === null ? null : show === "rank" ? 1 - (value - 1) / Math.max(1, present - 1) : value;
      return { set, counter, value, spread, weight: weight === null ? null : Math.max(0, Math.min(1, weight)) };
    }),
  );
}

/** Pixels above the cells: a head of type 11 rises at 55 degrees, and the longest one is whole. */
export const headHeight = (labels: readonly string[]): number =>
  Math.max(
    96,
    Math.ceil(24 + Math.max(0, ...labels.map((label) => label.length)) * 6.6 * Math.sin((55 * Math.PI) / 180)),
  );

/** Counters of a set, most relevant first; those it does not have are left out. */
export function ranked(deviation: Deviation, set: number): number[] {
  const one = deviation.sets[set];
  if (!one) return [];
  // Estimates of older versions have no places.
  const key = (counter: number): [number, number] => [
    one.place[counter] ?? one.rank[counter] ?? Infinity,
    -(one.relevance[counter] ?? 0),
  ];
  return deviation.counters
    .map((_, counter) => counter)
    .filter((counter) => one.rank[counter] != null || one.relevance[counter] != null)
    .sort((a, b) => key(a)[0] - key(b)[0] || key(a)[1] - key(b)[1]);
}
