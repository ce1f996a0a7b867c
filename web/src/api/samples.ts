/** Packet samples: what the packets of a job, a message tag or a phase met on their way. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";
import { figures, integers, text, texts } from "./shapes";

const contextsShape = v.object({
  items: v.array(
    v.object({
      context_id: v.number(),
      job_id: text,
      tag: text,
      phase: text,
      first: v.string(),
      last: v.string(),
      simulated: v.boolean(),
    }),
  ),
});

const sampleMapShape = v.object({
  from: text,
  to: text,
  contexts: v.number(),
  simulated: v.boolean(),
  links: v.object({
    link: integers,
    traffic: integers,
    traffic_error: integers,
    bytes: integers,
    congested: integers,
    congested_error: integers,
    congested_fraction: figures,
  }),
});

const cablesShape = v.object({
  link: integers,
  src: figures,
  dst: figures,
  src_port: figures,
  dst_port: figures,
  class: texts,
  src_endpoint: figures,
  dst_endpoint: figures,
});

const MINUTE = 60_000;

/** Which packets; all if nothing is named. */
export interface SampleFilter {
  job?: string;
  tag?: string;
  phase?: string;
  from?: string;
  to?: string;
}

export type SampleContexts = v.InferOutput<typeof contextsShape>;
export type SampleMap = v.InferOutput<typeof sampleMapShape>;

export const sampleContextsQuery = (fabric: number) =>
  queryOptions({
    queryKey: ["samples", fabric, "contexts"],
    queryFn: ({ signal }) => getJson(contextsShape, `/fabrics/${fabric}/samples/contexts`, { limit: 1000 }, signal),
    staleTime: MINUTE,
  });

export const sampleMapQuery = (fabric: number, filter: SampleFilter) =>
  queryOptions({
    queryKey: ["samples", fabric, "links", filter],
    queryFn: ({ signal }) => getJson(sampleMapShape, `/fabrics/${fabric}/samples`, { ...filter }, signal),
    staleTime: MINUTE,
  });

/** With the cables to nodes. */
export const cablesQuery = (fabric: number) =>
  queryOptions({
    queryKey: ["topology", fabric, "cables"],
    queryFn: ({ signal }) => getJson(cablesShape, `/fabrics/${fabric}/links`, { terminals: true }, signal),
    staleTime: 10 * MINUTE,
  });
