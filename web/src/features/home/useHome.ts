/** What home asks for: all of one moment, and of a span until it. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { alertsQuery } from "../../api/alerts";
import type { RunningRun } from "../../api/estimateShapes";
import { runningQuery } from "../../api/estimates";
import { useFreshness } from "../../api/freshness";
import { incidentQuery, incidentsQuery } from "../../api/incident";
import {
  congestionQuery,
  coverageQuery,
  fabricsQuery,
  ingestQuery,
  jobsQuery,
  occupancyQuery,
  overviewQuery,
  routersQuery,
} from "../../api/queries";
import type { Fabric } from "../../api/shapes";
import { panelFigures, routerWindow, sumsOf } from "../../charts/window";
import { isoTime, parseTime, type TimeWindow } from "../../lib/time";
import { sceneOf, type Values } from "../../machine/scene";
import type { Span } from "../addresses";
import { spanWindow } from "./texts";

// What the incidents of a span cost.

const HOUR_MS = 3_600_000;
const MOST = 1000;

/** `window`: null while the newest moment is unknown; `past`: whether it ends at a moment of the past, not now. */
function useLost(fabric: Fabric, window: TimeWindow | null, past: boolean) {
  const lost = useInfiniteQuery({
    ...incidentsQuery(
      {
        fabric: fabric.name,
        from: window ? isoTime(window.from) : undefined,
        ...(past && window && { to: isoTime(window.to) }),
      },
      MOST,
    ),
    enabled: window !== null && !fabric.snapshot,
  });
  const losses = useMemo(() => {
    const [page] = lost.data?.pages ?? [];
    if (!page || !window) return null;
    const incidents = page.items.filter((one) => one.state !== "withdrawn");
    return {
      incidents,
      more: page.next_cursor !== null,
      hours: (window.to - window.from) / HOUR_MS,
      unexamined: page.unexamined ?? 0,
    };
  }, [lost.data, window]);
  return { lost, losses };
}

export const WINDOW_MS = 600_000;
const PACE_MS = 10_000;
const NONE: RunningRun[] = [];

/** `chosen`: a moment of the past; what is only known of now is then not asked for. */
export function useHome(fabric: Fabric, chosen: number | null, spanName: Span) {
  const fresh = useFreshness(fabric);
  const through = chosen ?? fresh.through ?? parseTime(fabric.cards_last_ts);
  const edge = through === null ? null : Math.floor(through / PACE_MS) * PACE_MS;
  const live = chosen === null;
  const moment = useMemo(() => ({ at: fabric.snapshot ? null : edge, windowMs: WINDOW_MS }), [fabric.snapshot, edge]);
  // No event reports counters of network cards.
  useQuery({ ...fabricsQuery(), enabled: live && fabric.cards_last_ts !== null, refetchInterval: PACE_MS });
  const routers = useQuery(routersQuery(fabric.name));
  const congestion = useQuery(congestionQuery(fabric.id, moment, null));
  const minute = edge === null ? null : Math.ceil(edge / 60_000) * 60_000;
  const overview = useQuery({
    ...overviewQuery(fabric.id, { from: (minute ?? 0) - HOUR_MS, to: minute ?? 0 }, 60),
    enabled: minute !== null && !fabric.snapshot,
  });
  const span = useMemo(() => (minute === null ? null : spanWindow(spanName, minute)), [spanName, minute]);
  const spanned = useQuery({
    ...overviewQuery(fabric.id, span ?? { from: 0, to: 0 }, 60),
    enabled: span !== null && !fabric.snapshot,
  });
  const coverage = useQuery({
    ...coverageQuery(span ? (span.to - span.from) / 1000 : 3600, 60),
    enabled: live && span !== null && !fabric.snapshot,
  });
  const occupancy = useQuery(occupancyQuery(fabric.id, edge === null ? null : Math.floor(edge / 30_000) * 30_000));
  const ingest = useQuery({ ...ingestQuery(), enabled: live });
  const incident = useQuery(incidentQuery(fabric.name, chosen === null ? null : isoTime(chosen)));
  const forecasts = useQuery({ ...runningQuery(fabric.name), enabled: live });
  const { lost, losses } = useLost(fabric, span, chosen !== null);
  const fired = useInfiniteQuery({ ...alertsQuery("firing"), enabled: live });
  const alerts = (live ? fired.data?.pages[0] : undefined) ?? null;
  const running = useInfiniteQuery({ ...jobsQuery({ state: "RUNNING", fabric: fabric.name }, 500), enabled: live });
  const scene = useMemo(() => (routers.data ? sceneOf(fabric, routers.data) : null), [fabric, routers.data]);
  const values = useMemo<Values | null>(() => {
    if (!scene || !congestion.data) return null;
    const window = routerWindow(sumsOf(scene.machine.size, congestion.data.routers), scene.machine.sampled);
    return { window, figures: panelFigures(window, scene.arrangement), before: null };
  }, [scene, congestion.data]);
  const now = live ? [ingest, forecasts, fired] : [];
  return {
    fresh,
    through,
    edge,
    scene,
    values,
    routers,
    congestion,
    overview,
    occupancy,
    ingest: live ? (ingest.data ?? null) : null,
    forecasts: (live ? forecasts.data?.items : undefined) ?? NONE,
    asksForecasts: forecasts,
    spanned,
    coverage,
    lost,
    losses,
    alerts,
    running,
    incident,
    asked: [routers, congestion, occupancy, ...now],
  };
}
