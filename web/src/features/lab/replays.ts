import type { components } from "../../api/generated/openapi";
import { isoTime, parseTime } from "../../lib/time";

/** Seconds of counters that a replay reads: of a shorter slow stretch all of it, and a minute at least. */
const LONGEST_S = 300;
const LEAST_S = 60;

/** The window of a replay in an address: the first minutes in which a job was slow; before it, or after it, others sent something else. */
export function slowWindow(since: string | null, until: string | null, now: number): { at: string; window: number } {
  const end = parseTime(until) ?? now;
  const begin = parseTime(since) ?? end;
  const window = Math.round(Math.min(LONGEST_S, Math.max(LEAST_S, (end - begin) / 1000)));
  return { at: isoTime(Math.max(begin + LEAST_S * 1000, Math.min(end, begin + window * 1000))), window };
}

// What a replay can choose from: the values that the API names, each in one place.

type WhatIf = components["schemas"]["WhatIf"];
export type Placement = WhatIf["placements"][number];
export type Routing = WhatIf["routings"][number];
export type Pattern = WhatIf["pattern"];

/** The names of a type, as they are written: one that is missing or that the API does not know fails to compile. */
const every = <Name extends string>(names: Record<Name, true>) => Object.keys(names) as Name[];

export const PLACEMENTS = every<Placement>({
  "as-it-was": true,
  contiguous: true,
  "random-node": true,
  "random-router": true,
  "random-chassis": true,
  "random-cabinet": true,
  "random-group": true,
  "random-rank": true,
  cyclic: true,
});

type TreeRouting = "ftree" | "hw-adaptive" | "spray";
type DimensionOrder = "dor";

/** Routings by kind of fabric. */
export const ROUTINGS: Record<string, Routing[]> = {
  dragonfly: every<Exclude<Routing, TreeRouting | DimensionOrder>>({
    adaptive0: true,
    adaptive1: true,
    adaptive2: true,
    adaptive3: true,
    minimal: true,
    valiant: true,
    "min-hash": true,
    "nmin-hash": true,
    "in-order": true,
  }),
  fat_tree: every<TreeRouting | "valiant">({ ftree: true, "hw-adaptive": true, spray: true, valiant: true }),
  torus: every<DimensionOrder | "valiant">({ dor: true, valiant: true }),
};

export const PATTERNS = every<Pattern>({
  "ring-allreduce": true,
  "tree-allreduce": true,
  "hierarchical-allreduce": true,
  "expert-alltoall": true,
  stencil3d: true,
  "stencil27-bspma": true,
  "stencil27-svaf": true,
  "stencil27-svafp": true,
  halo3d: true,
  "cyclic-stencil": true,
  sweep3d: true,
  "fill-boundary": true,
  amg: true,
  "crystal-router": true,
  alltoall: true,
  allreduce: true,
  broadcast: true,
  barrier: true,
  incast: true,
  permutation: true,
  bisection: true,
  "bisection-shuffle": true,
  pingpong: true,
  bully: true,
});
