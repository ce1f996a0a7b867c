/** What one set of runs says of a name, in a line (State): verdict, chance, effect. Pure. */
import type { SeveralSets } from "../../api/estimateShapes";
import { chance, signed } from "./numbers";

export type Evidence = SeveralSets["items"][number]["evidence"][number];

export function evidenceText(one: Evidence, definition: "ours" | "paper"): string {
  const beside = `beside ${one.exposed_runs} of ${one.runs} runs${one.simulated ? ", simulated" : ""}`;
  if (!one.testable) return `too few shared runs, ${beside}`;
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
