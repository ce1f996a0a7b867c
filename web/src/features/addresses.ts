/** What the addresses of the pages hold; that of a fabric has a file of its own. */
import { STATES } from "../api/incident";
import { instant, matching, oneOf, readerOf, text, wholeBetween, wholeNumber } from "../lib/address";

export type AdminView = "users" | "tokens" | "audit";

export const adminSearch = readerOf(
  {
    view: oneOf("tokens", "audit"),
    /** Whose entries of the audit log are shown. */
    actor: text,
  },
  { actor: "view=audit" },
);

export type AlertsView = "alerts" | "rules" | "silences" | "contacts";

export const alertsSearch = readerOf(
  {
    view: oneOf("rules", "silences", "contacts"),
    /** The alert, or the rule, that is shown next to the list. */
    alert: wholeNumber,
    rule: text,
    /** The dry run whose result is shown. */
    task: wholeNumber,
  },
  { alert: "view=", rule: "view=rules", task: "view=rules" },
);

export const blameSearch = readerOf(
  {
    exe: text,
    nodes: wholeNumber,
    by: oneOf("application"),
    /** Place in the ranking of whom the runs are shown. */
    who: wholeNumber,
    q: text,
    /** What "found in several sets" means. */
    found: oneOf("paper"),
    /** Of the names found in several sets, the one whose evidence is shown. */
    name: text,
    sort: text,
  },
  { nodes: "exe" },
);

export const driversSearch = readerOf({
  inputs: oneOf("deltas"),
  show: oneOf("rank"),
  counter: text,
  /** Estimate of the chosen set. */
  set: wholeNumber,
});
export type DriversSearch = ReturnType<typeof driversSearch>;

export const forecastSearch = readerOf(
  {
    exe: text,
    nodes: wholeNumber,
    run: wholeNumber,
    /** Whose running jobs are shown; of all machines without one. */
    machine: text,
  },
  { nodes: "exe" },
);

export const SPANS = ["hour", "today", "week"] as const;
export type Span = (typeof SPANS)[number];

export const homeSearch = readerOf({
  machine: text,
  /** The moment that the page speaks of; without one it is live. */
  at: instant,
  /** The time that costs and coverage are of; an hour where none is named. */
  span: oneOf(...SPANS),
});

export const incidentsSearch = readerOf({
  fabric: text,
  state: oneOf(...STATES),
  job: text,
  user: text,
  from: instant,
  to: instant,
  sort: text,
});

export const jobSearch = readerOf({
  /** Where several clusters use the same id; else the newest job of that id. */
  cluster: text,
  run: wholeNumber,
  /** Other runs of the same program. */
  compare: matching(/^\d{1,9}(,\d{1,9})*$/),
  /** The neighbour that is shown on the placement; "none" hides the one that is named. */
  beside: text,
  /** The moment that the page speaks of; without one the newest of the job's life. */
  at: instant,
});

/** States of a job as Slurm names them; those of the control first. */
export const COMMON_STATES = ["RUNNING", "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"] as const;
const JOB_STATES = [
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
export type JobState = (typeof JOB_STATES)[number];

export const jobsSearch = readerOf({ q: text, user: text, state: oneOf(...JOB_STATES), fabric: text, sort: text });

export const labSearch = readerOf(
  {
    task: wholeNumber,
    view: oneOf("noise"),
    /** A replay to be asked for: machine, end of its window, job. */
    replay: oneOf("on"),
    fabric: text,
    at: instant,
    job: text,
    /** Seconds of the window that ends at `at`. */
    window: wholeBetween(1, 3600),
  },
  { task: "view=", fabric: "replay=on", at: "replay=on", job: "replay=on", window: "replay=on" },
);
export type LabSearch = ReturnType<typeof labSearch>;

const PLACE = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

export const loginSearch = readerOf({
  /** Where a reader came from, to be led back there; a place of this page only. */
  to: (value) => (typeof value === "string" && PLACE.test(value) && !value.startsWith("/login") ? value : undefined),
});

export const adviceSearch = readerOf({
  id: wholeNumber,
  state: oneOf("recommended", "refused"),
  /** Group of leaves of the plots before and after. */
  slice: wholeNumber,
  by: oneOf("group"),
});

/** A page without parameters. */
export const noSearch = readerOf({});
