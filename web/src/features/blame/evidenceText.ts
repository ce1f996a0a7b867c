/** What one set of runs says of a name, in a line (State): verdict, chance, effect. Pure. */
import type { BlameEntry, SeveralSets } from "../../api/estimateShapes";
import { chance, signed } from "./numbers";

export type Evidence = SeveralSets["items"][number]["evidence"][number];

export function evidenceText(one: Evidence, definition: "ours" | "paper"): string {
  const beside = `alongside ${one.exposed_runs} of ${one.runs} runs${one.simulated ? ", simulated" : ""}`;
  if (!one.testable) return `cannot be tested, ${beside}`;
  if (definition === "paper") {
    const direction = one.mi_sign > 0 ? "slower with" : "faster with";
    return `mutual information ${one.mi_bits.toFixed(3)} bits, ${direction}, q ${chance(one.mi_q)}, ${beside}`;
  }
  const interval =
    one.effect_low_s === null || one.effect_high_s === null
      ? ""
      : ` (${signed(one.effect_low_s)} to ${signed(one.effect_high_s)} s)`;
  const effect = one.effect_s === null ? "" : `, ${signed(one.effect_s)} s in an exposed run${interval}`;
  return `${one.verdict}, q ${chance(one.q)}${effect}, ${beside}`;
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
