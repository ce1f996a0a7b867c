/** Network noise: of a job, from its network cards' counters; of collectives, measured by the benchmark or simulated by the studies. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson } from "./client";
import { figure, text } from "./shapes";

// The network noise of a job, from the counters of its network cards.

const share = v.object({ share: figure, of_s: figure, cannot_tell: text });

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
  noise_s: figure,
  worst_noise_s: figure,
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
  dispersion: v.object({ measured: figure, network: figure, latency: figure }),
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
      first: figure,
      second: figure,
      ratio: figure,
      low: figure,
      high: figure,
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

const box = v.object({
  least: v.number(),
  q1: v.number(),
  median: v.number(),
  q3: v.number(),
  most: v.number(),
  notch: v.tuple([v.number(), v.number()]),
  measurements: v.number(),
});
export type NotchedBox = v.InferOutput<typeof box>;

const fit = v.object({
  network: v.string(),
  collective: v.string(),
  collective_bytes: v.number(),
  perturbation_bytes: v.number(),
  world: v.number(),
  splits: v.number(),
  slope: v.number(),
  slope_ci95: v.tuple([v.number(), v.number()]),
  intercept: v.number(),
  band: v.array(v.object({ ratio: v.number(), low: v.number(), fitted: v.number(), high: v.number() })),
});
export type Fit = v.InferOutput<typeof fit>;

export const measuredShape = v.object({
  fits: v.array(fit),
  items: v.array(
    v.object({
      network: v.string(),
      collective: v.string(),
      collective_bytes: v.number(),
      perturbation_bytes: v.number(),
      world: v.number(),
      ratio: v.number(),
      splits: v.number(),
      late: v.number(),
      perturbed_s: figure,
      quiet_s: figure,
      slowdown: figure,
      slowdown_min: figure,
      slowdown_max: figure,
      slowdown_quartiles: v.nullable(v.array(v.number())),
      imported_at: v.string(),
      perturbed_box: v.nullable(box),
      quiet_box: v.nullable(box),
    }),
  ),
});
export type Measured = v.InferOutput<typeof measuredShape>["items"][number];

export const simulatedShape = v.object({
  items: v.array(
    v.object({
      task_id: v.number(),
      study: text,
      series: v.string(),
      topology: v.string(),
      routing: v.string(),
      pattern: v.string(),
      semantics: v.string(),
      endpoints: v.number(),
      ratio: v.number(),
      runs: v.number(),
      slowdown: v.number(),
      ci95: v.nullable(v.array(v.number())),
      finished_at: text,
    }),
  ),
});
export type Simulated = v.InferOutput<typeof simulatedShape>["items"][number];

export const measuredQuery = () =>
  queryOptions({
    queryKey: ["noise", "measured"],
    queryFn: ({ signal }) => getJson(measuredShape, "/noise/measured", {}, signal),
  });
export const simulatedQuery = () =>
  queryOptions({
    queryKey: ["tasks", "noise"],
    queryFn: ({ signal }) => getJson(simulatedShape, "/noise/simulated", {}, signal),
  });
