/** How fresh the data of a machine are, in one word and one sentence. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { duration } from "../lib/format";
import { useStore } from "../lib/store";
import { moment, parseTime, ZONE } from "../lib/time";
import { ApiError } from "./client";
import { liveStore } from "./live";
import type { Fabric } from "./shapes";

// What of the page's own questions the server cannot answer now: a stream that goes on does not make that live.

export interface Trouble {
  /** Questions of the open page that fail by the server's fault. */
  failing: number;
  /** When the oldest of the shown answers came that could not be renewed; null: none is shown. */
  since: number | null;
}

/** No answer at all, or one that says that the server cannot: what the reader asked wrongly is said where it stands. */
const ofServer = (error: Error | null): boolean =>
  error !== null && (!(error instanceof ApiError) || error.problem.status === 0 || error.problem.status >= 500);

export function useTrouble(): Trouble {
  const cache = useQueryClient().getQueryCache();
  const subscribe = useCallback((changed: () => void) => cache.subscribe(changed), [cache]);
  // As text, so that an unchanged state is the same value.
  const state = useSyncExternalStore(
    subscribe,
    useCallback(() => {
      let [failing, since] = [0, Infinity];
      for (const query of cache.getAll()) {
        const { status, error, data, dataUpdatedAt, fetchFailureReason } = query.state;
        if (!query.isActive()) continue;
        if (ofServer(status === "error" ? error : fetchFailureReason)) failing++;
        if (status === "error" && data !== undefined) since = Math.min(since, dataUpdatedAt);
      }
      return `${failing} ${since}`;
    }, [cache]),
  );
  const [failing = 0, since = Infinity] = state.split(" ").map(Number);
  return { failing, since: Number.isFinite(since) ? since : null };
}

export type FreshState = "live" | "stale" | "recorded" | "none";

export interface Freshness {
  state: FreshState;
  text: string;
  through: number | null;
  /** Why it is stale: the connection, or a stream that brings nothing new. */
  reason: "connection" | "silence" | null;
  nextTryAt: number | null;
}

/** Samples come each second or ten; half a minute without one is silence. */
export const SILENCE_MS = 30_000;
/** What ended longer ago than this is a recording, not a stream that broke. */
const RECORDED_MS = 86_400_000;

interface Inputs {
  fabric: Pick<Fabric, "snapshot" | "recorded" | "last_ts"> | null;
  through: number | null;
  movedAt: number | null;
  connection: "connecting" | "open" | "lost";
  nextTryAt: number | null;
  now: number;
  /** When the page began to listen. */
  since: number;
}

export function freshness({ fabric, through, movedAt, connection, nextTryAt, now, since }: Inputs): Freshness {
  const none: Freshness = { state: "none", text: "No data yet", through, reason: null, nextTryAt: null };
  if (!fabric) return none;
  if (fabric.snapshot) return { ...none, state: "recorded", text: "Recorded sample" };
  if (through === null) return none;
  const lag = now - through;
  const last = `last sample ${moment(through, now, true)}`;
  const recorded: Freshness = { ...none, state: "recorded", text: `Recorded · ${last} ${ZONE}` };
  if (connection === "lost")
    return { state: "stale", text: `Stale · ${last}`, through, reason: "connection", nextTryAt };
  if (fabric.recorded) return recorded;
  if (now - (movedAt ?? since) < SILENCE_MS && (movedAt !== null || Math.abs(lag) < 2 * SILENCE_MS)) {
    const near = lag > -5000 && lag < 600_000;
    return {
      state: "live",
      text: near
        ? `Live · ${duration(Math.max(0, Math.round(lag / 1000)))} behind`
        : `Live · at ${moment(through, now, true)}`,
      through,
      reason: null,
      nextTryAt: null,
    };
  }
  if (movedAt === null && Math.abs(lag) > RECORDED_MS) return recorded;
  return { state: "stale", text: `Stale · ${last}`, through, reason: "silence", nextTryAt: null };
}

const opened = Date.now();

/** How far data reach: a writer that has fallen behind, or fills in what is old, tells less than what is known to be stored. */
export const reach = (live: number | null, stored: number | null): number | null =>
  live === null || stored === null ? (live ?? stored) : Math.max(live, stored);

export function useFreshness(fabric: Fabric | null): Freshness {
  const live = useStore(liveStore);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const known = fabric ? (live.through.get(fabric.id) ?? null) : null;
  const last = parseTime(fabric?.last_ts);
  return freshness({
    fabric,
    through: reach(known, last),
    movedAt: fabric ? (live.movedAt.get(fabric.id) ?? null) : null,
    connection: live.connection,
    nextTryAt: live.nextTryAt,
    now,
    since: opened,
  });
}
