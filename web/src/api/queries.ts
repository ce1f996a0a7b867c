/** What the pages ask for. Keys begin with the word that an event invalidates. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import type { Frames } from "../lib/prefix";
import { isoTime, parseTime, type TimeWindow } from "../lib/time";
import { ApiError, getBinary, getJson, type Query } from "./client";
import * as shapes from "./shapes";

// Frames for brushing travel as float32: flits[t][router], then stall_cycles[t][router]; the layout stands in the headers.

export function decodeFrames(body: ArrayBuffer, headers: Headers): Frames {
  const whole = (name: string) => Number.parseInt(headers.get(name) ?? "", 10);
  const frames = whole("x-frames");
  const routers = whole("x-routers");
  const stepMs = Number(headers.get("x-step-seconds")) * 1000;
  const from = parseTime(headers.get("x-from"));
  const cells = frames * routers;
  if (!(frames >= 0 && routers >= 0 && stepMs > 0) || from === null || body.byteLength !== cells * 8) {
    throw new ApiError({
      title: "The frames do not match their headers",
      status: 200,
      detail: `${body.byteLength} bytes for ${frames} frames of ${routers} routers`,
      advice: "Reload the page.",
    });
  }
  return {
    from,
    stepMs,
    frames,
    routers,
    flits: new Float32Array(body, 0, cells),
    stalls: new Float32Array(body, cells * 4, cells),
  };
}

// What has arrived by source: each way in with its commands, and what came through it.

const sourceShape = v.object({
  key: v.string(),
  title: v.string(),
  about: v.string(),
  commands: v.array(v.string()),
  needs: v.array(v.string()),
  scope: shapes.text,
  records: v.number(),
  recent: v.number(),
  last_at: shapes.text,
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

export const arrivalsQuery = () =>
  queryOptions({
    queryKey: ["ingest", "arrivals"],
    queryFn: ({ signal }) => getJson(arrivalsShape, "/ingest/arrivals", {}, signal),
    refetchInterval: 5000,
  });

const MINUTE = 60_000;

export const fabricsQuery = () =>
  queryOptions({
    queryKey: ["fabrics"],
    queryFn: ({ signal }) => getJson(shapes.fabricsShape, "/fabrics", {}, signal),
    staleTime: MINUTE,
  });

/** By name, so that a page can ask before it has the list of machines. */
export const routersQuery = (fabric: string) =>
  queryOptions({
    queryKey: ["topology", fabric, "routers"],
    queryFn: ({ signal }) => getJson(shapes.routersShape, `/fabrics/${encodeURIComponent(fabric)}/routers`, {}, signal),
    staleTime: 10 * MINUTE,
  });

export const linksQuery = (fabric: number) =>
  queryOptions({
    queryKey: ["topology", fabric, "links"],
    queryFn: ({ signal }) => getJson(shapes.linksShape, `/fabrics/${fabric}/links`, {}, signal),
    staleTime: 10 * MINUTE,
  });

/** The API's window ends at `at`; without one it answers with its newest complete window of that length. */
export interface Moment {
  at: number | null;
  windowMs: number;
}

export const momentOf = (window: TimeWindow): Moment => ({ at: window.to, windowMs: window.to - window.from });

export const momentParameters = ({ at, windowMs }: Moment): Query => ({
  at: at === null ? null : isoTime(at),
  window: `${Math.max(1, Math.round(windowMs / 1000))}s`,
});

export const congestionQuery = (fabric: number, moment: Moment, linkClass: string | null) =>
  queryOptions({
    queryKey: ["counters", fabric, "congestion", moment, linkClass],
    queryFn: ({ signal }) =>
      getJson(
        shapes.congestionShape,
        `/fabrics/${fabric}/stalls`,
        { ...momentParameters(moment), class: linkClass },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

export interface LinkFilter {
  router?: number;
  group?: number;
  class?: string;
}

export const linkFiguresQuery = (fabric: number, moment: Moment, filter: LinkFilter) =>
  queryOptions({
    queryKey: ["counters", fabric, "links", moment, filter],
    queryFn: ({ signal }) =>
      getJson(
        shapes.linkFiguresShape,
        `/fabrics/${fabric}/stalls/links`,
        { ...momentParameters(moment), ...filter },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

/** The same of the window that is compared with; not asked without one. */
export const earlierLinksQuery = (fabric: number, earlier: Moment | null, filter: LinkFilter) => ({
  ...linkFiguresQuery(fabric, earlier ?? { at: null, windowMs: 60_000 }, filter),
  enabled: earlier !== null,
});

export const overviewQuery = (fabric: number, span: TimeWindow, points: number) =>
  queryOptions({
    queryKey: ["counters", fabric, "overview", span, points],
    queryFn: ({ signal }) =>
      getJson(
        shapes.overviewShape,
        `/fabrics/${fabric}/overview`,
        { from: isoTime(span.from), to: isoTime(span.to), points },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

export const framesQuery = (fabric: number, span: TimeWindow, stepSeconds: number, linkClass: string | null) =>
  queryOptions({
    queryKey: ["counters", fabric, "frames", span, stepSeconds, linkClass],
    queryFn: async ({ signal }) => {
      const query = { from: isoTime(span.from), to: isoTime(span.to), step: stepSeconds, class: linkClass };
      const { body, headers } = await getBinary(`/fabrics/${fabric}/frames`, query, signal);
      return decodeFrames(body, headers);
    },
    staleTime: 10 * MINUTE,
    gcTime: 2 * MINUTE,
  });

export const routerQuery = (fabric: number, router: number, moment: Moment) =>
  queryOptions({
    queryKey: ["counters", fabric, "router", router, moment],
    queryFn: ({ signal }) =>
      getJson(shapes.routerDetailShape, `/fabrics/${fabric}/routers/${router}`, momentParameters(moment), signal),
    placeholderData: keepPreviousData,
  });

export interface SeriesRequest {
  routers: string;
  counters: string;
  span: TimeWindow;
  points: number;
  /** One row, summed over the routers. */
  sum?: boolean;
}

export const timeseriesQuery = (fabric: number, { routers, counters, span, points, sum }: SeriesRequest) =>
  queryOptions({
    queryKey: ["counters", fabric, "timeseries", routers, counters, span, points, sum ?? false],
    queryFn: ({ signal }) =>
      getJson(
        shapes.timeseriesShape,
        `/fabrics/${fabric}/timeseries`,
        { routers, counters, from: isoTime(span.from), to: isoTime(span.to), points, sum: sum || null },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

export const occupancyQuery = (fabric: number, at: number | null) =>
  queryOptions({
    queryKey: ["jobs", "occupancy", fabric, at],
    queryFn: ({ signal }) =>
      getJson(shapes.occupancyShape, `/fabrics/${fabric}/occupancy`, { at: at === null ? null : isoTime(at) }, signal),
    placeholderData: keepPreviousData,
  });

export interface JobFilter {
  q?: string;
  user?: string;
  state?: string;
  sort?: string;
  fabric?: string;
  from?: string;
  to?: string;
}

export const jobsQuery = (filter: JobFilter, limit = 200) =>
  infiniteQueryOptions({
    queryKey: ["jobs", "list", filter, limit],
    queryFn: ({ pageParam, signal }) =>
      getJson(shapes.jobsShape, "/jobs", { ...filter, limit, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

/** `cluster`: where several clusters use the same id; without it, the newest job of that id. */
export const jobQuery = (job: string, cluster?: string) =>
  queryOptions({
    queryKey: ["jobs", "one", job, cluster ?? null],
    queryFn: ({ signal }) => getJson(shapes.jobDetailShape, `/jobs/${encodeURIComponent(job)}`, { cluster }, signal),
  });

export const jobPartsQuery = (job: string, cluster: string, span: TimeWindow) =>
  queryOptions({
    queryKey: ["jobs", "parts", job, cluster, span],
    queryFn: ({ signal }) =>
      getJson(
        shapes.jobPartsShape,
        `/jobs/${encodeURIComponent(job)}/counters`,
        { cluster, from: isoTime(span.from), to: isoTime(span.to) },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

export const runsQuery = (exe: string) =>
  queryOptions({
    queryKey: ["runs", "list", exe],
    queryFn: ({ signal }) => getJson(shapes.runsShape, "/runs", { exe, limit: 50 }, signal),
  });

export const runStepsQuery = (run: number) =>
  queryOptions({
    queryKey: ["runs", run, "steps"],
    queryFn: ({ signal }) => getJson(shapes.runStepsShape, `/runs/${run}/steps`, {}, signal),
  });

export const ingestQuery = () =>
  queryOptions({
    queryKey: ["ingest"],
    queryFn: ({ signal }) => getJson(shapes.ingestShape, "/ingest/status", {}, signal),
    refetchInterval: 5000,
  });

/** `span` in seconds, until now. */
export const coverageQuery = (span: number, steps: number) =>
  queryOptions({
    queryKey: ["ingest", "coverage", span, steps],
    queryFn: ({ signal }) => getJson(shapes.coverageShape, "/ingest/coverage", { span: `${span}s`, steps }, signal),
    staleTime: 30_000,
    refetchInterval: MINUTE,
    placeholderData: keepPreviousData,
  });

export const searchQuery = (text: string) =>
  queryOptions({
    queryKey: ["search", text],
    queryFn: ({ signal }) => getJson(shapes.searchShape, "/search", { q: text }, signal),
    enabled: text.length > 0,
    placeholderData: keepPreviousData,
  });
