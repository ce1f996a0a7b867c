/** The network noise of a job, from the counters of its network cards. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";

const maybeNumber = v.nullable(v.number());
const share = v.object({ share: maybeNumber, of_s: maybeNumber, cannot_tell: v.nullable(v.string()) });

export const networkNoiseShape = v.object({
  verdict: v.picklist(["estimated", "cannot tell", "not computed"]),
  figures: v.array(
    v.object({
      key: v.picklist(["latency_us", "waits"]),
      label: v.string(),
      unit: v.string(),
      mean: v.number(),
      quiet: v.number(),
      dispersion: v.number(),
    }),
  ),
  noise_s: maybeNumber,
  worst_noise_s: maybeNumber,
  of_runtime: share,
  of_slowdown: share,
  cards: v.number(),
  cards_counted: v.number(),
  counters: v.array(v.string()),
  method: v.string(),
});
export type NetworkNoise = v.InferOutput<typeof networkNoiseShape>;

export const networkNoiseQuery = (job: string, cluster: string) =>
  queryOptions({
    queryKey: ["jobs", "network-noise", job, cluster],
    queryFn: ({ signal }) =>
      getJson(networkNoiseShape, `/jobs/${encodeURIComponent(job)}/network-noise`, { cluster }, signal),
  });
