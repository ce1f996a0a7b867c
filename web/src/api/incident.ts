/** Incidents: the present one of a machine (GET /incident), and those that are stored (GET /incidents). */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson } from "./client";
import { candidateShape, remedyShape } from "./estimateShapes";
import { figure, identifier, pageOf, text } from "./shapes";

const PACE_MS = 15_000;

const slowJob = {
  job_pk: v.number(),
  job_id: identifier,
  user: text,
  name: text,
  nodes: figure,
  verdict: v.string(),
  factor: v.number(),
  lost_s: v.number(),
  since: v.string(),
  until: text,
};
const slowJobShape = v.object(slowJob);
export type SlowJob = v.InferOutput<typeof slowJobShape>;

const linkShape = v.object({
  link: v.number(),
  link_class: v.string(),
  from_router: v.number(),
  from_name: v.string(),
  from_group: v.number(),
  to_router: v.number(),
  to_name: v.string(),
  to_group: v.number(),
  stall_ratio_before: figure,
  stall_ratio_after: figure,
});
export type CarryingLink = v.InferOutput<typeof linkShape>;

const story = {
  incident_id: figure,
  title: v.string(),
  detail: v.string(),
  since: text,
  until: text,
  aggressor: v.nullable(candidateShape),
  links: v.array(linkShape),
  victims: v.array(slowJobShape),
  others: v.array(slowJobShape),
  remedies: v.array(remedyShape),
};
const storyShape = v.object(story);
export type Story = v.InferOutput<typeof storyShape>;

export const incidentShape = v.object({
  ...story,
  fabric: v.string(),
  as_of: v.string(),
  verdict: v.picklist(["incident", "none", "cannot tell"]),
  judged: v.object({ running: v.number(), not_slow: v.number() }),
  last: v.nullable(storyShape),
});
export type Incident = v.InferOutput<typeof incidentShape>;

/** `at`: the answer of that moment; null: of now. */
export const incidentQuery = (fabric: string, at: string | null) =>
  queryOptions({
    queryKey: ["incident", fabric, at],
    queryFn: ({ signal }) => getJson(incidentShape, "/incident", { fabric, at: at ?? undefined }, signal),
    refetchInterval: at === null ? PACE_MS : false,
    placeholderData: keepPreviousData,
  });

export const STATES = ["open", "over", "withdrawn"] as const;
export type IncidentState = (typeof STATES)[number];

const head = {
  incident_id: v.number(),
  fabric: v.string(),
  simulated: v.boolean(),
  state: v.picklist(STATES),
  began: v.string(),
  ended: text,
  title: v.string(),
  causes: v.array(
    v.object({
      job_pk: v.number(),
      job_id: identifier,
      user: text,
      name: text,
      nodes: figure,
      start: text,
      end: text,
      part: figure,
    }),
  ),
  slowed: v.number(),
  slow_now: v.number(),
  lost_s: v.number(),
  node_hours: figure,
  node_hours_low: figure,
  node_hours_high: figure,
};
const headShape = v.object(head);
export type IncidentHead = v.InferOutput<typeof headShape>;
export const incidentsShape = v.object({ ...pageOf(headShape).entries, unexamined: figure });

export const incidentNoteShape = v.object({
  note_id: v.number(),
  at: v.string(),
  author: v.string(),
  text: v.string(),
});
export type IncidentNote = v.InferOutput<typeof incidentNoteShape>;

export const incidentDetailShape = v.object({
  ...head,
  detail: v.string(),
  quiet: figure,
  links: v.array(linkShape),
  victims: v.array(
    v.object({
      ...slowJob,
      state: v.string(),
      lost_low_s: v.number(),
      lost_high_s: v.number(),
      named: v.array(identifier),
    }),
  ),
  remedies: v.array(remedyShape),
  minutes: v.array(v.object({ at: v.string(), waiting: v.number(), part: figure })),
  alerts: v.array(
    v.object({
      alert_id: v.number(),
      rule: v.string(),
      phase: v.picklist(["pending", "firing", "resolved"]),
      fired_at: text,
      resolved_at: text,
      delivered: v.number(),
    }),
  ),
  notes: v.array(incidentNoteShape),
});
export type IncidentDetail = v.InferOutput<typeof incidentDetailShape>;
export type SlowedJob = IncidentDetail["victims"][number];

export interface IncidentFilter {
  fabric?: string;
  state?: IncidentState;
  job?: string;
  user?: string;
  from?: string;
  to?: string;
}

export const incidentsQuery = (filter: IncidentFilter, limit = 100) =>
  infiniteQueryOptions({
    queryKey: ["incidents", "list", filter, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson(incidentsShape, "/incidents", { ...filter, limit, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

/** Asked again while it is open. One that became part of another is answered by that one. */
export const storedIncidentQuery = (incident: string) =>
  queryOptions({
    queryKey: ["incidents", "one", incident],
    queryFn: ({ signal }) => getJson(incidentDetailShape, `/incidents/${encodeURIComponent(incident)}`, {}, signal),
    refetchInterval: ({ state }) => (state.data?.state === "open" ? PACE_MS : false),
  });

export const addIncidentNote = (incident: number, note: string) =>
  postJson(incidentNoteShape, `/incidents/${incident}/notes`, { text: note });
