/** What a simulated run says of the congested fraction: plots of its advice, grids of links to nodes, or why there is none (State). Pure. */
import type { Task } from "../../api/tasks";
import { isObject } from "./results";

/** Fractions of links to nodes by rows of their places; null: too few packets. */
export interface FractionGrid {
  label: string;
  rows: (number | null)[][];
}

export type Congested = { advice: number } | { grids: FractionGrid[] } | { why: string };

const isFraction = (value: unknown): value is number | null => value === null || typeof value === "number";
const isGrid = (value: unknown): value is (number | null)[][] =>
  Array.isArray(value) && value.length > 0 && value.every((row) => Array.isArray(row) && row.every(isFraction));

/** By study or task: why its result has no congested fraction. */
const REASONS: [of: RegExp, why: string][] = [
  [/^(hoefler|sim\.collective)/, "This model has flows instead of packets, so no packet finds a link congested."],
  [/^taffet-pf3d/, "The result holds the roots found in the sampled packets, not the fraction of each link."],
  [/^taffet-table2\.1/, "The result holds the errors of the samples, not the fraction of each link."],
  [/^sim\.whatif/, "A replay measures stalls of routers and samples no packets."],
  [/^sim\.packet/, "This run measures stalls of links and samples no packets."],
];

/** Null: the task simulates no network. */
export function congestedOf({ name, args, result }: Pick<Task, "name" | "args" | "result">): Congested | null {
  if (!/^(sim|routing)\./.test(name) || !isObject(result)) return null;
  // Advice of a routing mode changes no static route, so it has no plots.
  if (name === "routing.advice") return null;
  if (typeof result.recommendation_id === "number") return { advice: result.recommendation_id };
  const points = Array.isArray(result.points) ? result.points.filter(isObject) : [];
  const labelOf = (one: object) => Object.values(one).filter((value) => typeof value === "string");
  const grids = points.flatMap((one) =>
    isGrid(one.south_grid) ? [{ label: labelOf(one).join(", "), rows: one.south_grid }] : [],
  );
  if (grids.length) return { grids };
  const what = typeof args?.study === "string" ? args.study : name;
  const [, why = "This run samples no packets."] = REASONS.find(([of]) => of.test(what)) ?? [];
  return { why };
}
