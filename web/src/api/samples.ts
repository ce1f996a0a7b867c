/** Packet samples: what the packets of a job, a message tag or a phase met on their way. */
import { queryOptions } from "@tanstack/react-query";
import type * as v from "valibot";
import { getJson } from "./client";
import * as shapes from "./sampleShapes";

const MINUTE = 60_000;

/** Which packets; all if nothing is named. */
export interface SampleFilter {
  job?: string;
  tag?: string;
  phase?: string;
  from?: string;
  to?: string;
}

export type SampleContexts = v.InferOutput<typeof shapes.contextsShape>;
export type SampleMap = v.InferOutput<typeof shapes.sampleMapShape>;

export const sampleContextsQuery = (fabric: number) =>
  queryOptions({
    queryKey: ["samples", fabric, "contexts"],
    queryFn: ({ signal }) =>
      getJson(shapes.contextsShape, `/fabrics/${fabric}/samples/contexts`, { limit: 1000 }, signal),
    staleTime: MINUTE,
  });

export const sampleMapQuery = (fabric: number, filter: SampleFilter) =>
  queryOptions({
    queryKey: ["samples", fabric, "links", filter],
    queryFn: ({ signal }) => getJson(shapes.sampleMapShape, `/fabrics/${fabric}/samples`, { ...filter }, signal),
    staleTime: MINUTE,
  });

/** With the cables to nodes. */
export const cablesQuery = (fabric: number) =>
  queryOptions({
    queryKey: ["topology", fabric, "cables"],
    queryFn: ({ signal }) => getJson(shapes.cablesShape, `/fabrics/${fabric}/links`, { terminals: true }, signal),
    staleTime: 10 * MINUTE,
  });
