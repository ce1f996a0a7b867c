/** A job's elapsed time against finished jobs of its like, with or without recorded steps. */
import type { Outlook } from "../../api/estimateShapes";
import type { Job } from "../../api/shapes";

export interface Usual {
  /** Finished jobs that it is held against, and what they have in common with it. */
  runs: number;
  basis: string;
  median: number | null;
  p10: number | null;
  p90: number | null;
  factor: number | null;
}

/** Fewer say nothing about what is usual. */
export const FEWEST = 3;

/** Why a slow job took no longer than usual as a whole, in a sentence; empty if it did. */
export const wholeText = (slowdown: number, { factor }: Pick<Usual, "factor">): string =>
  factor !== null && slowdown >= 1.1 && factor < 1.05
    ? `The whole job took ${factor < 0.95 ? `${Math.round((1 - factor) * 100)} % less than` : "about"} the usual time: only these steps are slow, and similar jobs differ in length.`
    : "";

/** The closest kin with enough runs. A job that runs is only compared once it has taken longer than they did. */
export function usualTime(job: Pick<Job, "elapsed_s" | "state">, past: Outlook["past"]): Usual {
  const kin = past.find((one) => one.jobs >= FEWEST && one.p50_s !== null);
  if (!kin || kin.p50_s === null)
    return {
      runs: past[0]?.jobs ?? 0,
      basis: past[0]?.basis ?? "user, name, size",
      median: null,
      p10: null,
      p90: null,
      factor: null,
    };
  const comparable = job.state === "COMPLETED" || (job.elapsed_s ?? 0) > kin.p50_s;
  return {
    runs: kin.jobs,
    basis: kin.basis,
    median: kin.p50_s,
    p10: kin.p10_s,
    p90: kin.p90_s,
    factor: comparable && kin.p50_s > 0 && job.elapsed_s !== null ? job.elapsed_s / kin.p50_s : null,
  };
}
