/** What has arrived by source: each way in with its commands, and what came through it. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson } from "./client";

const sourceShape = v.object({
  key: v.string(),
  title: v.string(),
  about: v.string(),
  commands: v.array(v.string()),
  needs: v.array(v.string()),
  scope: v.nullable(v.string()),
  records: v.number(),
  recent: v.number(),
  last_at: v.nullable(v.string()),
  refused: v.array(v.object({ records: v.number(), at: v.string(), where: v.string(), reason: v.string() })),
});
export type SourceArrivals = v.InferOutput<typeof sourceShape>;

export const arrivalsShape = v.object({
  now: v.string(),
  recent_s: v.number(),
  sources: v.array(sourceShape),
  simulated: v.number(),
  unknown: v.number(),
  machines: v.array(
    v.object({ fabric: v.string(), simulated: v.boolean(), devices: v.number(), reporting: v.number() }),
  ),
});
export type Arrivals = v.InferOutput<typeof arrivalsShape>;

export const arrivalsQuery = () =>
  queryOptions({
    queryKey: ["ingest", "arrivals"],
    queryFn: ({ signal }) => getJson(arrivalsShape, "/ingest/arrivals", {}, signal),
    refetchInterval: 5000,
  });
