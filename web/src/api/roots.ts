/** Where congestion begins: of a job, by its packet samples or by port counters. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";
import { type Moment, momentParameters } from "./queries";
import { figure, identifier, text } from "./shapes";

const linkFields = {
  link: v.number(),
  src: v.number(),
  dst: v.number(),
  src_name: v.string(),
  dst_name: v.string(),
  utilisation: figure,
  stalls_per_flit: figure,
  congested_fraction: figure,
};
const victimShape = v.object({ ...linkFields, behind: v.number(), distance: v.number() });
export type Victim = v.InferOutput<typeof victimShape>;

export const rootShape = v.object({
  ...linkFields,
  cause: v.string(),
  confidence: figure,
  advice: v.string(),
  victims: v.array(victimShape),
  victims_total: v.number(),
  jobs: v.array(v.object({ job_id: identifier, user: text, name: text, nodes: figure, share: figure })),
  jobs_unknown_because: text,
});
export type Root = v.InferOutput<typeof rootShape>;

export const rootsShape = v.object({
  from: text,
  to: text,
  method: v.picklist(["ports", "samples"]),
  verdict: v.picklist(["named", "none", "cannot tell"]),
  reasons: v.array(v.string()),
  roots: v.array(rootShape),
  worst_path: v.array(v.object(linkFields)),
  rulings: v.array(
    v.object({
      cause: v.string(),
      ruling: v.picklist(["in", "out", "cannot tell"]),
      roots: v.number(),
      text: v.string(),
    }),
  ),
  links_counted: v.number(),
  links_stalled: v.number(),
  simulated: v.boolean(),
});
export type Roots = v.InferOutput<typeof rootsShape>;

/** Where it is looked for: the path, and its parameters. */
export const diagnosisPlace = (job: string, cluster: string, moment: Moment, of: OfPackets = {}) =>
  [`/jobs/${encodeURIComponent(job)}/diagnosis`, { cluster, ...momentParameters(moment), ...of }] as const;

/** Only packets of that tag, or of that phase of the job. */
export interface OfPackets {
  tag?: string;
  phase?: string;
}

export const diagnosisQuery = (job: string, cluster: string, moment: Moment, of: OfPackets = {}) =>
  queryOptions({
    queryKey: ["jobs", "diagnosis", job, cluster, moment, of],
    queryFn: ({ signal }) => getJson(rootsShape, ...diagnosisPlace(job, cluster, moment, of), signal),
    staleTime: 15_000,
  });

/** The same of a machine, by counters of its ports. */
export const fabricRootsQuery = (fabric: number, moment: Moment) =>
  queryOptions({
    queryKey: ["counters", fabric, "roots", moment],
    queryFn: ({ signal }) => getJson(rootsShape, `/fabrics/${fabric}/roots`, momentParameters(moment), signal),
    staleTime: 15_000,
    placeholderData: keepPreviousData,
  });
