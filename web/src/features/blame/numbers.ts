/** Figures of blame as people read them. */

/** q and p: never a bare zero. */
export const chance = (value: number | null): string =>
  value === null ? "–" : value < 0.001 ? "< 0.001" : value.toFixed(3);

export const signed = (seconds: number): string => seconds.toFixed(1).replace("-", "\u2212");

interface Ranked {
  testable: boolean;
  q: number | null;
  effect_s: number | null;
}

/** Names by chance, and those of equal chance by effect; what cannot be tested comes last. Equals keep their order. */
export const byChance = <E extends Ranked>(entries: readonly E[]): E[] =>
  [...entries].sort(
    (a, b) =>
      Number(b.testable) - Number(a.testable) ||
      (a.q ?? 1) - (b.q ?? 1) ||
      (b.effect_s ?? -Infinity) - (a.effect_s ?? -Infinity) ||
      0,
  );

/** The least chance among the names that were tested, if none is named. */
export const chanceText = (entries: readonly Ranked[]): string => {
  const least = Math.min(...entries.filter((one) => one.testable).map((one) => one.q ?? 1));
  return Number.isFinite(least) && least > 0.05 ? `: none differs from chance (least q ${chance(least)})` : "";
};
