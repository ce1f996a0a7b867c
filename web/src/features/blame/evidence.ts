import type { BlameEntry, SeveralSets } from "../../api/estimateShapes";
import { minus } from "../../lib/format";

// Figures of blame as people read them.

/** q and p: never a bare zero. */
export const chance = (value: number | null): string =>
  value === null ? "–" : value < 0.001 ? "< 0.001" : value.toFixed(3);

export const signed = (seconds: number): string => minus(seconds.toFixed(1));

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

// What one set of runs says of a name, in a line (State): verdict, chance, effect. Pure.

export type Evidence = SeveralSets["items"][number]["evidence"][number];

export function evidenceText(one: Evidence, definition: "ours" | "paper"): string {
  const exposure = `alongside ${one.exposed_runs} of ${one.runs} runs${one.simulated ? ", simulated" : ""}`;
  if (!one.testable) return `cannot be tested, ${exposure}`;
  if (definition === "paper") {
    const direction = one.mi_sign > 0 ? "slower with" : "faster with";
    return `mutual information ${one.mi_bits.toFixed(3)} bits, ${direction}, q ${chance(one.mi_q)}, ${exposure}`;
  }
  const interval =
    one.effect_low_s === null || one.effect_high_s === null
      ? ""
      : ` (${signed(one.effect_low_s)} to ${signed(one.effect_high_s)} s)`;
  const effect = one.effect_s === null ? "" : `, ${signed(one.effect_s)} s in an exposed run${interval}`;
  return `${one.verdict}, q ${chance(one.q)}${effect}, ${exposure}`;
}

/** What a name costs: seconds in an exposed run, and node-hours in all of them, each with its interval; empty if it is not known. */
export function effectText(one: Effect): string {
  const parts = [
    withInterval(one.effect_s, one.effect_low_s, one.effect_high_s, "s in an exposed run"),
    withInterval(one.lost_node_hours, one.lost_low_node_hours, one.lost_high_node_hours, "node-hours in all"),
  ];
  return parts.filter((part) => part !== null).join(", ");
}

type Effect = Pick<
  BlameEntry,
  "effect_s" | "effect_low_s" | "effect_high_s" | "lost_node_hours" | "lost_low_node_hours" | "lost_high_node_hours"
>;

function withInterval(value: number | null, low: number | null, high: number | null, unit: string): string | null {
  if (value === null) return null;
  const interval = low === null || high === null ? "" : ` (95 %: ${signed(low)} to ${signed(high)})`;
  return `${signed(value)} ${unit}${interval}`;
}
