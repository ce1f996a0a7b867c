/** Which links are hottest, and who uses them. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { getJson } from "./client";
import { hotLinksShape, slowCablesShape } from "./linkShapes";
import { momentParameters, type Moment } from "./queries";

export interface HotLinkFilter {
  class?: string;
  link?: number;
  router?: number;
  src_group?: number;
  dst_group?: number;
}

export const hotLinksQuery = (fabric: number, moment: Moment, filter: HotLinkFilter, limit = 100) =>
  queryOptions({
    queryKey: ["counters", fabric, "hot-links", moment, filter, limit],
    queryFn: ({ signal }) =>
      getJson(hotLinksShape, `/fabrics/${fabric}/links/hot`, { ...momentParameters(moment), ...filter, limit }, signal),
    placeholderData: keepPreviousData,
  });

/** Cables that are slower than their kind, or whose link fails again and again: they change seldom. */
export const slowCablesQuery = (fabric: number) =>
  queryOptions({
    queryKey: ["slow-cables", fabric],
    queryFn: ({ signal }) => getJson(slowCablesShape, `/fabrics/${fabric}/links/slow`, {}, signal),
    refetchInterval: 60_000,
  });
