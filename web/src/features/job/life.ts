/** The time of a job's page: one moment for all that it shows, and for every link out of it. Pure: times in milliseconds. */
import type { JobDetail } from "../../api/shapes";
import { isoTime, parseTime } from "../../lib/time";

export interface Life {
  start: number | null;
  /** The last moment that is spoken of: the newest in which the job held its nodes and there are data, or an earlier one that was asked for. */
  until: number;
  /** Whether that moment stays: the job is over, or the moment was asked for. */
  fixed: boolean;
}

/** A job no longer holds its nodes at its end. */
const HELD_MS = 1000;
const GRID_MS = 5000;
const [SHORTEST_MS, LONGEST_MS] = [60_000, 600_000];

export function lifeOf(job: Pick<JobDetail, "start" | "end">, last: number, at: number | null): Life {
  const [start, end] = [parseTime(job.start), parseTime(job.end)];
  const newest = end === null ? last : Math.min(end - HELD_MS, last);
  const until = Math.max(Math.min(at ?? newest, newest), start ?? -Infinity);
  return { start, until, fixed: end !== null || at !== null };
}

/** The last minutes of that time, on the grid of the counters. */
export function lastMinutes({ start, until }: Life): { at: number; windowMs: number } {
  return {
    at: Math.floor(until / GRID_MS) * GRID_MS,
    windowMs: Math.max(SHORTEST_MS, Math.min(LONGEST_MS, until - (start ?? until))),
  };
}

/** What an address of the fabric page holds to show those minutes; nothing while they are live. */
export function fabricTime(life: Life): { from?: string; to?: string } {
  if (!life.fixed) return {};
  const { at, windowMs } = lastMinutes(life);
  return { from: isoTime(at - windowMs), to: isoTime(at) };
}
