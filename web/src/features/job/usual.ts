/** A job's elapsed time against the same user's and application's past, with or without recorded steps. */
import { quantileSorted } from "d3-array";
import type { Job } from "../../api/shapes";

export interface Usual {
  /** Finished jobs of the same name, user and node count. */
  runs: number;
  median: number | null;
  p10: number | null;
  p90: number | null;
  factor: number | null;
}

/** Fewer say nothing about what is usual. */
export const FEWEST = 3;

/** The application behind a job's name: digits that number a series are not part of it. */
export const application = (name: string | null) => (name ?? "").toLowerCase().replace(/[-_.]?\d+$/, "");

export function usualTime(job: Pick<Job, "job_pk" | "user" | "name" | "nodes" | "elapsed_s" | "state">, past: Job[]): Usual {
  const alike = past.filter((other) =>
    other.job_pk !== job.job_pk && other.user === job.user && application(other.name) === application(job.name) && other.nodes === job.nodes &&
    other.state === "COMPLETED" && (other.elapsed_s ?? 0) > 0);
  const times = alike.map((other) => other.elapsed_s as number).sort((a, b) => a - b);
  if (times.length < FEWEST) return { runs: times.length, median: null, p10: null, p90: null, factor: null };
  const median = quantileSorted(times, 0.5) ?? null;
  const finished = job.state === "COMPLETED" || (job.elapsed_s ?? 0) > (median ?? Infinity);
  return {
    runs: times.length, median, p10: quantileSorted(times, 0.1) ?? null, p90: quantileSorted(times, 0.9) ?? null,
    factor: finished && median && job.elapsed_s !== null ? job.elapsed_s / median : null,
  };
}
