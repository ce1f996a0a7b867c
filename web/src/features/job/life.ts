/** The time of a job's page: one moment for all that it shows, and for every link out of it. Pure: times in milliseconds. */
import type { Explanation, Outlook, RunTime } from "../../api/estimateShapes";
import type { Job, JobDetail } from "../../api/shapes";
import { duration, inWords, lostTime, MINUS, plural } from "../../lib/format";
import { intervalText, isoTime, moment, parseTime, ZONE } from "../../lib/time";

// What a running job's delay comes to, for the verdict.

/** A forecast that is later than usual by more than this share of it stands out. */
const LATE_SHARE = 0.05;

interface Ahead {
  value: string;
  label: string;
  bad: boolean;
}

/**
 * Seconds lost where the job is slow: the forecast of its whole time rests on jobs that lasted as long, and knows nothing of the
 * slowdown. Otherwise how much later than usual it ends, `late` and `usual` in seconds; null if neither is known.
 */
export function aheadOf(explanation: Explanation | undefined, late: number | null, usual: number | null): Ahead | null {
  const lost = explanation && explanation.verdict !== "not slow" ? (explanation.slowdown?.lost_s ?? null) : null;
  if (lost !== null && lost > 0) return { value: lostTime(lost), label: "lost so far", bad: true };
  if (late === null) return null;
  return {
    value: `${late < 0 ? MINUS : "+"}${duration(Math.abs(late))}`,
    label: "forecast at the end, vs usual",
    bad: late > LATE_SHARE * (usual ?? 0),
  };
}

// When a running job ends: a range, or that it is unknown and why.

/** The 90 % range of its end, as a cell of a table. */
export function endsText(runTime: RunTime | null | undefined, now: number): string {
  const [from, to] = [parseTime(runTime?.ends_low), parseTime(runTime?.ends_high)];
  return from === null || to === null ? "unknown" : intervalText({ from, to }, now, false);
}

/** The same as a sentence of the job's page. */
export function endsSentence(runTime: RunTime, now: number): string {
  const ends = parseTime(runTime.ends);
  if (ends === null) return `When it ends is unknown: ${runTime.lacks ?? "no similar job lasted as long"}.`;
  const basis = runTime.basis === null ? "" : ` of the same ${inWords(runTime.basis)}`;
  return `Ends about ${moment(ends, now)} ${ZONE} (${endsText(runTime, now)}, 90 %), as ${plural(runTime.jobs, "job")}${basis} that ran as long.`;
}

// A job's elapsed time against finished jobs of its like, with or without recorded steps.

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

/** That a moment which was asked for is outside of the job's life, in a sentence; empty if it is within. */
export function outsideText({ start, until }: Life, end: number | null, at: number | null, now: number): string {
  const said = (ms: number) => `${moment(ms, now, true)} ${ZONE}`;
  if (at === null || start === null) return "";
  if (at < start) return `The job had not started at ${said(at)}: this page shows its start.`;
  return end !== null && at > end ? `The job had ended at ${said(at)}: this page shows ${said(until)}.` : "";
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
