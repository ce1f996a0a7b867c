/** The root of a job's congestion: the window in which it is looked for, and the links that wait behind it in the order of a tree. Pure. */
import type { Explanation } from "../../api/estimateShapes";
import type { Moment } from "../../api/queries";
import type { Root, Victim } from "../../api/roots";
import { parseTime } from "../../lib/time";

/** By which branches are ordered and bars are drawn. */
export const badness = (one: Victim) => one.stalls_per_flit ?? one.congested_fraction ?? 0;

/** Each link after the one that it waits for, the worst branch first; one whose way to the root is not listed comes last. */
export function treeRows(root: Root): Victim[] {
  const waiting = new Map<number, Victim[]>();
  for (const one of root.victims) waiting.set(one.behind, [...(waiting.get(one.behind) ?? []), one]);
  const rows: Victim[] = [];
  const listed = new Set<number>([root.link]);
  const add = (link: number) => {
    for (const one of (waiting.get(link) ?? []).sort((a, b) => badness(b) - badness(a))) {
      if (listed.has(one.link)) continue;
      listed.add(one.link);
      rows.push(one);
      add(one.link);
    }
  };
  add(root.link);
  return [...rows, ...root.victims.filter((one) => !listed.has(one.link))];
}

/** The minute after the onset, as the explanation gives it; null if the job is not slow, or where too little of that minute has passed or was slow. */
export function afterOnset(explanation: Explanation | undefined): Moment | null {
  const [from, to] = [parseTime(explanation?.root_from), parseTime(explanation?.root_to)];
  return from === null || to === null ? null : { at: to, windowMs: to - from };
}
