/** Recommendations: what the page asks for. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { getJson } from "./client";
import * as shapes from "./recommendationShapes";

const PACE_MS = 30_000;
const NEVER_OLD = 600_000;

export const recommendationsQuery = (state: string | undefined, limit = 100) =>
  infiniteQueryOptions({
    queryKey: ["recommendations", "list", state, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson(shapes.recommendationsShape, "/advice", { state, limit, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: PACE_MS,
    placeholderData: keepPreviousData,
  });

export const recommendationQuery = (id: number) =>
  queryOptions({
    queryKey: ["recommendations", "one", id],
    queryFn: ({ signal }) => getJson(shapes.recommendationDetailShape, `/advice/${id}`, {}, signal),
  });

export const trafficMatrixQuery = (id: number, by: string) =>
  queryOptions({
    queryKey: ["recommendations", "matrix", id, by],
    queryFn: ({ signal }) => getJson(shapes.trafficMatrixShape, `/advice/${id}/matrix`, { by }, signal),
    staleTime: NEVER_OLD,
  });

export const beforeAfterQuery = (id: number) =>
  queryOptions({
    queryKey: ["recommendations", "links", id],
    queryFn: ({ signal }) => getJson(shapes.beforeAfterShape, `/advice/${id}/links`, {}, signal),
    staleTime: NEVER_OLD,
  });
