/** What the addresses of the pages hold; that of a fabric has a file of its own. */
import { type IncidentFilter, STATES } from "../api/incident";
import { instant, oneOf, text, wholeNumber } from "../lib/address";

export type AdminView = "users" | "tokens" | "audit";

export interface AdminSearch {
  view?: "tokens" | "audit";
  /** Whose entries of the audit log are shown. */
  actor?: string;
}

export function adminSearch(raw: Record<string, unknown>): AdminSearch {
  const all: AdminSearch = { view: oneOf(raw.view, ["tokens", "audit"]), actor: text(raw.actor) };
  return all;
}

export type AlertsView = "alerts" | "rules" | "silences" | "contacts";

export interface AlertsSearch {
  view?: "rules" | "silences" | "contacts";
  /** The alert, or the rule, that is shown next to the list. */
  alert?: number;
  rule?: string;
  /** The dry run whose result is shown. */
  task?: number;
}

export function alertsSearch(raw: Record<string, unknown>): AlertsSearch {
  const all: AlertsSearch = {
    view: oneOf(raw.view, ["rules", "silences", "contacts"]),
    alert: wholeNumber(raw.alert),
    rule: text(raw.rule),
    task: wholeNumber(raw.task),
  };
  return all;
}

export interface BlameSearch {
  exe?: string;
  nodes?: number;
  by?: "application";
  /** Place in the ranking of whom the runs are shown. */
  who?: number;
  q?: string;
  /** What "found in several sets" means. */
  found?: "paper";
  /** Of the names found in several sets, the one whose evidence is shown. */
  name?: string;
  sort?: string;
}

export function blameSearch(raw: Record<string, unknown>): BlameSearch {
  const all: BlameSearch = {
    exe: text(raw.exe),
    nodes: wholeNumber(raw.nodes),
    by: oneOf(raw.by, ["application"]),
    who: wholeNumber(raw.who),
    q: text(raw.q),
    found: oneOf(raw.found, ["paper"]),
    name: text(raw.name),
    sort: text(raw.sort),
  };
  return all;
}

export interface DriversSearch {
  inputs?: "deltas";
  show?: "rank";
  counter?: string;
  /** Estimate of the chosen set. */
  set?: number;
}

export function driversSearch(raw: Record<string, unknown>): DriversSearch {
  const all: DriversSearch = {
    inputs: oneOf(raw.inputs, ["deltas"]),
    show: oneOf(raw.show, ["rank"]),
    counter: text(raw.counter),
    set: wholeNumber(raw.set),
  };
  return all;
}

export interface ForecastSearch {
  exe?: string;
  nodes?: number;
  run?: number;
}

export function forecastSearch(raw: Record<string, unknown>): ForecastSearch {
  const all: ForecastSearch = { exe: text(raw.exe), nodes: wholeNumber(raw.nodes), run: wholeNumber(raw.run) };
  return all;
}

export interface HomeSearch {
  machine?: string;
  /** The moment that the page speaks of; without one it is live. */
  at?: string;
  /** The time that costs and coverage are of; an hour where none is named. */
  span?: Span;
}

export const SPANS = ["hour", "today", "week"] as const;
export type Span = (typeof SPANS)[number];

export function homeSearch(raw: Record<string, unknown>): HomeSearch {
  const all: HomeSearch = { machine: text(raw.machine), at: instant(raw.at), span: oneOf(raw.span, SPANS) };
  return all;
}

export interface IncidentsSearch extends IncidentFilter {
  sort?: string;
}

export function incidentsSearch(raw: Record<string, unknown>): IncidentsSearch {
  const all: IncidentsSearch = {
    fabric: text(raw.fabric),
    state: oneOf(raw.state, STATES),
    job: text(raw.job),
    user: text(raw.user),
    from: instant(raw.from),
    to: instant(raw.to),
    sort: text(raw.sort),
  };
  return all;
}

export interface JobSearch {
  /** Where several clusters use the same id; else the newest job of that id. */
  cluster?: string;
  run?: number;
  compare?: string;
  /** The neighbour that is shown on the placement; "none" hides the one that is named. */
  beside?: string;
  /** The moment that the page speaks of; without one the newest of the job's life. */
  at?: string;
}

export function jobSearch(raw: Record<string, unknown>): JobSearch {
  const all: JobSearch = {
    cluster: text(raw.cluster),
    run: wholeNumber(raw.run),
    compare: text(raw.compare),
    beside: text(raw.beside),
    at: instant(raw.at),
  };
  return all;
}

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
    state: oneOf(raw.state, JOB_STATES),
    fabric: text(raw.fabric),
    sort: text(raw.sort),
  };
  return all;
}

export interface LabSearch {
  task?: number;
  view?: "noise";
  /** A replay to be asked for: machine, end of its window, job. */
  replay?: "on";
  fabric?: string;
  at?: string;
  job?: string;
  /** Seconds of the window that ends at `at`. */
  window?: number;
}

export function labSearch(raw: Record<string, unknown>): LabSearch {
  const all: LabSearch = {
    task: wholeNumber(raw.task),
    view: oneOf(raw.view, ["noise"]),
    replay: oneOf(raw.replay, ["on"]),
    fabric: text(raw.fabric),
    at: text(raw.at),
    job: text(raw.job),
    window: wholeNumber(raw.window),
  };
  return all;
}

/** Where a reader came from, to be led back there; a place of this page only. */
export interface LoginSearch {
  to?: string;
}

const PLACE = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

export function loginSearch(search: Record<string, unknown>): LoginSearch {
  const { to } = search;
  // Undefined by name: the router lays what is returned over what was typed, and a key left out would let the typed text through.
  return { to: typeof to === "string" && PLACE.test(to) && !to.startsWith("/login") ? to : undefined };
}

export interface RecommendationsSearch {
  id?: number;
  state?: "recommended" | "refused";
  /** Group of leaves of the plots before and after. */
  slice?: number;
  by?: "group";
}

export function recommendationsSearch(raw: Record<string, unknown>): RecommendationsSearch {
  const all: RecommendationsSearch = {
    id: wholeNumber(raw.id),
    state: oneOf(raw.state, ["recommended", "refused"]),
    slice: wholeNumber(raw.slice),
    by: oneOf(raw.by, ["group"]),
  };
  return all;
}
