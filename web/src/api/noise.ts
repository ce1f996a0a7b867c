/** Network noise of collectives: measured by the benchmark, and simulated by the studies. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";
import { figure, text } from "./shapes";

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
