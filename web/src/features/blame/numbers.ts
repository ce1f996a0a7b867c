/** Figures of blame as people read them. */

/** q and p: never a bare zero. */
export const chance = (value: number | null): string =>
  value === null ? "–" : value < 0.001 ? "< 0.001" : value.toFixed(3);

export const signed = (seconds: number): string => seconds.toFixed(1).replace("-", "\u2212");
