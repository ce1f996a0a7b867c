// What a tree says where it is pointed at, and whose switches are ringed.
import type { Machine } from "../../charts/arrange";
import { ratioOf, type HalfEdge } from "../../charts/tree";
import { plural } from "../../lib/format";
import type { JobOverlay } from "../../machine/scene";

/** Each job's switches with its place: of a switch that several use, the first. */
export const ringsOf = (jobs: JobOverlay[]): ReadonlyMap<number, number> =>
  new Map(
    [...jobs].reverse().flatMap((job, i) => [...job.routers].map((router) => [router, jobs.length - 1 - i] as const)),
  );

export function linkText(
  machine: Machine,
  src: number,
  dst: number,
  half: HalfEdge,
  valueText: (value: number) => string,
): string {
  const value = ratioOf(half);
  const cables = half.links > 1 ? `\n${plural(half.links, "parallel cable")}` : "";
  return `${machine.name[src] ?? src} → ${machine.name[dst] ?? dst}\n${value < 0 ? "not counted" : valueText(value)}${cables}`;
}
