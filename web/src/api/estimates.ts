/** What the pages ask for about estimates. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { getJson } from "./client";
import * as shapes from "./estimateShapes";

export interface OfApplication {
  exe?: string;
  nodes?: number;
}
export type By = "user" | "application";

export const estimatesQuery = () =>
  queryOptions({
    queryKey: ["estimates", "list"],
    queryFn: ({ signal }) => getJson(shapes.estimatesShape, "/estimates", {}, signal),
    staleTime: 30_000,
  });

/** Entries come by the thousand, so that a filter over 300 users asks nobody. */
export const blameQuery = (of: OfApplication, by: By) =>
  infiniteQueryOptions({
    queryKey: ["estimates", "blame", of, by],
    queryFn: ({ pageParam, signal }) =>
      getJson(shapes.blameShape, "/estimates/blame", { ...of, by, limit: 1000, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

export const blameDetailQuery = (estimate: number, by: By, place: number) =>
  queryOptions({
    queryKey: ["estimates", "blame", estimate, by, place],
    queryFn: ({ signal }) =>
      getJson(shapes.blameDetailShape, `/estimates/blame/${estimate}/${by}/${place}`, {}, signal),
    placeholderData: keepPreviousData,
  });

export const severalQuery = (by: By, definition: "ours" | "paper") =>
  queryOptions({
    queryKey: ["estimates", "blame", "several", by, definition],
    queryFn: ({ signal }) =>
      getJson(shapes.severalSetsShape, "/estimates/blame/several", { by, definition, limit: 200 }, signal),
    staleTime: 30_000,
  });

export type DeviationInputs = "rates" | "deltas";
export const deviationQuery = (inputs: DeviationInputs) =>
  queryOptions({
    queryKey: ["estimates", "deviation", inputs],
    queryFn: ({ signal }) => getJson(shapes.deviationShape, "/estimates/drivers", { inputs }, signal),
    placeholderData: keepPreviousData,
  });

export const forecastQuery = (of: OfApplication) =>
  queryOptions({
    queryKey: ["estimates", "forecast", of],
    queryFn: ({ signal }) => getJson(shapes.forecastShape, "/estimates/forecast", { ...of }, signal),
    placeholderData: keepPreviousData,
  });

/** `fabric`: of one machine; of all where it is left out. */
export const runningQuery = (fabric?: string) =>
  queryOptions({
    queryKey: ["forecasts", "running", fabric ?? null],
    queryFn: ({ signal }) => getJson(shapes.runningShape, "/forecasts", { limit: 200, fabric }, signal),
  });

export const slowestQuery = (fabric: string, limit: number) =>
  queryOptions({
    queryKey: ["forecasts", "slowest", fabric, limit],
    queryFn: ({ signal }) => getJson(shapes.slowestShape, "/runs/slowest", { fabric, limit }, signal),
    refetchInterval: 30_000,
  });

export const runningJobsQuery = (fabric?: string) =>
  queryOptions({
    queryKey: ["forecasts", "jobs", fabric ?? null],
    queryFn: ({ signal }) => getJson(shapes.runningJobsShape, "/forecasts/jobs", { limit: 50, fabric }, signal),
    staleTime: 30_000,
  });

export const runForecastQuery = (run: number) =>
  queryOptions({
    queryKey: ["forecasts", "run", run],
    queryFn: ({ signal }) => getJson(shapes.runForecastShape, `/runs/${run}/forecast`, {}, signal),
  });

export const outlookQuery = (job: string, cluster: string | null) =>
  queryOptions({
    queryKey: ["jobs", "outlook", job, cluster],
    queryFn: ({ signal }) =>
      getJson(
        shapes.outlookShape,
        `/jobs/${encodeURIComponent(job)}/outlook`,
        { cluster: cluster ?? undefined },
        signal,
      ),
  });

/** `at`: the answer of that moment; null: of now. */
export const explanationQuery = (job: string, cluster: string | null, at: string | null = null) =>
  queryOptions({
    queryKey: ["explanations", job, cluster, at],
    queryFn: ({ signal }) =>
      getJson(
        shapes.explanationShape,
        `/jobs/${encodeURIComponent(job)}/explanation`,
        { cluster: cluster ?? undefined, at: at ?? undefined },
        signal,
      ),
    staleTime: 15_000,
  });
