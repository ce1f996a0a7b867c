/** Recommendations: shapes of the API's answers, and queries. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";
import { figure, figures, integers, maybe, pageOf, text, texts } from "./shapes";

// What the API answers about recommendations (docs/contracts/recommendations.md).

const gainShape = v.object({
  factor: v.number(),
  low: figure,
  high: figure,
  level: v.number(),
  runs: v.number(),
  basis: v.string(),
});
export type Gain = v.InferOutput<typeof gainShape>;

const fields = {
  recommendation_id: v.number(),
  kind: v.string(),
  state: v.string(),
  created: v.string(),
  task_id: figure,
  fabric_id: figure,
  fabric: text,
  job_id: text,
  user: text,
  application: text,
  title: v.string(),
  reason: v.string(),
  gain: v.nullable(gainShape),
  environment: text,
  has_lfts: v.boolean(),
  has_matrix: v.boolean(),
  has_links: v.boolean(),
  simulated: v.boolean(),
};
export const recommendationShape = v.object(fields);
export type Recommendation = v.InferOutput<typeof recommendationShape>;
export const recommendationsShape = pageOf(recommendationShape);

const sideShape = v.object({ time_s: figure, max_load_bytes: figure, congested_links: figure, label: v.string() });
export type Side = v.InferOutput<typeof sideShape>;
export const recommendationDetailShape = v.object({
  ...fields,
  why: v.array(v.object({ text: v.string(), value: figure, unit: text })),
  before: v.nullable(sideShape),
  after: v.nullable(sideShape),
  alternatives: v.array(v.object({ label: v.string(), time_s: figure })),
  reconstruction: v.nullable(
    v.object({
      basis: v.string(),
      relative_error: figure,
      estimated_error: figure,
      residual: figure,
      iterations: figure,
      converged: maybe(v.boolean()),
      wall_s: figure,
    }),
  ),
  routes: v.nullable(
    v.object({ true_gap: figure, ftree_gap: figure, z_ar_bytes: figure, entries_changed: figure, entries: figure }),
  ),
  parameters: v.record(v.string(), v.unknown()),
});
export type RecommendationDetail = v.InferOutput<typeof recommendationDetailShape>;

const square = v.nullable(v.array(figures));
export const trafficMatrixShape = v.object({
  by: v.string(),
  labels: texts,
  true: square,
  reconstructed: square,
  difference: square,
});
export type TrafficMatrix = v.InferOutput<typeof trafficMatrixShape>;

const carriedShape = v.object({ traffic_bytes: figures, congested: figures });
export const beforeAfterShape = v.object({
  link: integers,
  src: integers,
  dst: integers,
  class: texts,
  router: integers,
  name: texts,
  level: figures,
  group: figures,
  nodes: figures,
  before: carriedShape,
  after: carriedShape,
});
export type BeforeAfter = v.InferOutput<typeof beforeAfterShape>;

const PACE_MS = 30_000;
const NEVER_OLD = 600_000;

export const recommendationsQuery = (state: string | undefined, limit = 100) =>
  infiniteQueryOptions({
    queryKey: ["recommendations", "list", state, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson(recommendationsShape, "/advice", { state, limit, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: PACE_MS,
    placeholderData: keepPreviousData,
  });

export const recommendationQuery = (id: number) =>
  queryOptions({
    queryKey: ["recommendations", "one", id],
    queryFn: ({ signal }) => getJson(recommendationDetailShape, `/advice/${id}`, {}, signal),
  });

export const trafficMatrixQuery = (id: number, by: string) =>
  queryOptions({
    queryKey: ["recommendations", "matrix", id, by],
    queryFn: ({ signal }) => getJson(trafficMatrixShape, `/advice/${id}/matrix`, { by }, signal),
    staleTime: NEVER_OLD,
  });

export const beforeAfterQuery = (id: number) =>
  queryOptions({
    queryKey: ["recommendations", "links", id],
    queryFn: ({ signal }) => getJson(beforeAfterShape, `/advice/${id}/links`, {}, signal),
    staleTime: NEVER_OLD,
  });
