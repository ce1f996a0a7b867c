/** The network noise of a job, from the counters of its network cards. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson } from "./client";

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

const verdict = v.picklist(["higher", "lower", "cannot tell"]);
const comparedSet = v.object({
  observations: v.number(),
  shared: v.number(),
  dispersion: v.object({ measured: maybeNumber, network: maybeNumber, latency: maybeNumber }),
  left_out: v.array(v.object({ number: v.string(), why: v.string() })),
});

export const noiseComparisonShape = v.object({
  verdict,
  why: v.string(),
  guidelines: v.array(v.object({ number: v.number(), holds: v.nullable(v.boolean()), text: v.string() })),
  figures: v.array(
    v.object({
      key: v.picklist(["latency_cycles", "stalls_per_flit", "flits_per_s", "message_s"]),
      unit: v.string(),
      first: maybeNumber,
      second: maybeNumber,
      ratio: maybeNumber,
      low: maybeNumber,
      high: maybeNumber,
      verdict,
    }),
  ),
  first: comparedSet,
  second: comparedSet,
  simulated: v.boolean(),
});
export type NoiseComparison = v.InferOutput<typeof noiseComparisonShape>;

/** A set of runs or of jobs by their numbers. */
export type NoiseSet = { runs: number[] } | { jobs: string[] };

export const compareNoise = (sets: { first: NoiseSet; second: NoiseSet }) =>
  postJson(noiseComparisonShape, "/network-noise/compare", sets);
