/** Which links are hottest, and who uses them. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";
import { type Moment, momentParameters } from "./queries";
import { figure, text } from "./shapes";

const hotLinksShape = v.object({
  at: text,
  window_s: figure,
  links_counted: v.number(),
  detour: figure,
  note: text,
  items: v.array(
    v.object({
      link: v.number(),
      link_class: v.string(),
      src: v.number(),
      src_name: v.string(),
      src_group: v.number(),
      src_port: figure,
      dst: v.number(),
      dst_name: v.string(),
      dst_group: v.number(),
      dst_port: figure,
      flits: figure,
      stall_cycles: figure,
      ratio: figure,
      jobs: v.array(
        v.object({
          job_pk: v.number(),
          job_id: v.string(),
          user: text,
          name: text,
          nodes: figure,
          share: v.number(),
        }),
      ),
      jobs_more: v.number(),
      explained: figure,
      cannot_tell: text,
    }),
  ),
});
export type HotLinks = v.InferOutput<typeof hotLinksShape>;
export type HotLink = HotLinks["items"][number];

const slowCablesShape = v.object({
  items: v.array(
    v.object({
      link: v.number(),
      link_class: v.string(),
      src_name: v.string(),
      src_port: figure,
      dst_name: v.string(),
      dst_port: figure,
      bandwidth_bps: figure,
      usual_bps: figure,
      slow: v.boolean(),
      flapping: v.boolean(),
      link_downs: figure,
      link_recoveries: figure,
      link_speed_changes: figure,
      condition: v.string(),
    }),
  ),
});
export type SlowCable = v.InferOutput<typeof slowCablesShape>["items"][number];

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
