import { oneOf, text } from "../../lib/search";

/** States of a job as Slurm names them; those of the control first. */
export const COMMON_STATES = ["RUNNING", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"] as const;
const STATES = [
  ...COMMON_STATES,
  "PENDING",
  "SUSPENDED",
  "COMPLETING",
  "NODE_FAIL",
  "OUT_OF_MEMORY",
  "PREEMPTED",
  "BOOT_FAIL",
  "DEADLINE",
  "REVOKED",
  "RUNAWAY",
] as const;
export type JobState = (typeof STATES)[number];

export interface JobsSearch {
  q?: string;
  user?: string;
  state?: JobState;
  fabric?: string;
  sort?: string;
}

export function jobsSearch(raw: Record<string, unknown>): JobsSearch {
  const all: JobsSearch = {
    q: text(raw.q),
    user: text(raw.user),
    state: oneOf(raw.state, STATES),
    fabric: text(raw.fabric),
    sort: text(raw.sort),
  };
  return all;
}
