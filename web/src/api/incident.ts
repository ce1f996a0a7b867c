/** The incident of a machine, as GET /incident tells it. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";
import { candidateShape, remedyShape } from "./estimateShapes";
import { figure, identifier, text } from "./shapes";

const PACE_MS = 15_000;

const slowJobShape = v.object({
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
});
export type SlowJob = v.InferOutput<typeof slowJobShape>;

const story = {
  title: v.string(),
  detail: v.string(),
  since: text,
  until: text,
  aggressor: v.nullable(candidateShape),
  links: v.array(
    v.object({
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
    }),
  ),
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
