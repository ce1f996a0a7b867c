/** The sentence at the top of a job's page: what is known, most telling first; never a cause that was not shown. */
import type { JobDetail } from "../../api/shapes";
import type { RunVerdict } from "../../charts/steps";
import { change, duration, ratio } from "../../lib/format";
import { clock, parseTime } from "../../lib/time";
import type { Usual } from "./usual";

export interface Evidence {
  job: JobDetail;
  run: RunVerdict | null;
  /** When the slow stretch of steps began. */
  slowAt: number | null;
  usual: Usual;
  /** Stalls per flit on the job's routers and on the whole machine, of the same window. */
  ownRatio: number | null;
  machineRatio: number | null;
  now: number;
}

export interface Verdict {
  title: string;
  detail: string;
  slow: boolean;
}

/** Below a tenth above usual nobody opens a ticket. */
const NOTABLE = 1.1;
const NEAR_MS = 120_000;

/** Neighbours that arrived within two minutes of a moment, by what is known of their overlap. */
export function arrivals(job: JobDetail, moment: number, now: number): JobDetail["neighbours"] {
  const end = parseTime(job.end) ?? now;
  return job.neighbours.filter((n) => n.overlap_s !== null && Math.abs(end - n.overlap_s * 1000 - moment) < NEAR_MS);
}

export function verdict({ job, run, slowAt, usual, ownRatio, machineRatio, now }: Evidence): Verdict {
  const hot = ownRatio !== null && machineRatio !== null && machineRatio > 0 ? ownRatio / machineRatio : null;
  const stalls = hot === null ? "Stalls on its routers are not known for this time."
    : hot >= NOTABLE ? `Its routers stall ${ratio(ownRatio)} cycles per flit, ${change(hot)} against the machine's ${ratio(machineRatio)}.`
    : `Its routers stall ${ratio(ownRatio)} cycles per flit, no more than the machine's ${ratio(machineRatio)}.`;
  if (run?.slowFactor && run.slowFactor >= NOTABLE && run.slowFrom !== null) {
    const since = slowAt === null ? `step ${run.slowFrom}` : clock(slowAt);
    const beside = slowAt === null ? [] : arrivals(job, slowAt, now);
    const who = beside[0] ? `, when job ${beside[0].job_id} arrived beside it` : "";
    return { title: `${Math.round((run.slowFactor - 1) * 100)} % slower since ${since}${who}`, detail: stalls, slow: true };
  }
  if (usual.factor !== null && usual.factor >= NOTABLE) {
    return { title: `Took ${duration(job.elapsed_s)}, ${change(usual.factor)} against its usual ${duration(usual.median)}`, detail: stalls, slow: true };
  }
  if (hot !== null && hot >= 1.5) return { title: `Its routers stall ${change(hot)} as much as the machine's`, detail: timeSentence(usual), slow: true };
  if (usual.factor !== null) return { title: "As fast as usual", detail: `${timeSentence(usual)} ${stalls}`, slow: false };
  return { title: job.state === "RUNNING" ? "Running" : "Nothing unusual is known", detail: `${timeSentence(usual)} ${stalls}`, slow: false };
}

function timeSentence(usual: Usual): string {
  if (usual.median === null) return `Too few finished jobs of the same ${usual.basis} to say what is usual (${usual.runs}).`;
  return `Usual is ${duration(usual.median)} (10–90 %: ${duration(usual.p10)} to ${duration(usual.p90)}, ${usual.runs} jobs of the same ${usual.basis}).`;
}
