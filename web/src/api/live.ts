/**
 * The event stream and what it says about freshness.
 *
 * The browser's EventSource gives up for good when the server answers with an error, so reconnection is ours: 1 s doubling to 30 s, with
 * the last event's id, so that nothing between is missed.
 */
import type { QueryClient } from "@tanstack/react-query";
import * as v from "valibot";
import { address } from "./client";
import { Store } from "../lib/store";
import { parseTime } from "../lib/time";

export interface LiveState {
  connection: "connecting" | "open" | "lost";
  lostAt: number | null;
  nextTryAt: number | null;
  /** Per fabric: rows are complete up to here (time of the data). */
  through: ReadonlyMap<number, number>;
  /** Per fabric: when that last moved (time of this page). */
  movedAt: ReadonlyMap<number, number>;
}

export const liveStore = new Store<LiveState>({
  connection: "connecting",
  lostAt: null,
  nextTryAt: null,
  through: new Map(),
  movedAt: new Map(),
});

const change = (part: Partial<LiveState>) => liveStore.set({ ...liveStore.get(), ...part });

const countersShape = v.looseObject({ fabric_id: v.number(), through: v.string() });

/** Notes how far a fabric's data reach, from an event or from an answer. */
export function noteThrough(fabric: number, through: number): void {
  const state = liveStore.get();
  if ((state.through.get(fabric) ?? -Infinity) >= through) return;
  change({
    through: new Map(state.through).set(fabric, through),
    movedAt: new Map(state.movedAt).set(fabric, Date.now()),
  });
}

// What else an event makes old. Counters are left to the pages, which follow `through` at their own pace.
const INVALIDATES: Record<string, string[]> = {
  job: ["jobs", "forecasts", "explanations"],
  run: ["runs", "forecasts"],
  gap: ["ingest"],
  dead_letter: ["ingest"],
  fabric: ["fabrics", "topology"],
  routes: ["counters"],
  task: ["tasks", "recommendations"],
  estimate: ["estimates"],
  forecast: ["forecasts"],
  alert: ["alerts"],
  incident: ["incidents", "incident", "explanations"],
};
const QUIET_MS = 2000;

export function followEvents(queries: QueryClient): () => void {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let pause = 1000;
  let lastId = "";
  const due = new Map<string, ReturnType<typeof setTimeout>>();

  const invalidateSoon = (key: string) => {
    if (due.has(key)) return;
    due.set(
      key,
      setTimeout(() => {
        due.delete(key);
        void queries.invalidateQueries({ queryKey: [key] });
      }, QUIET_MS),
    );
  };

  const connect = () => {
    source = new EventSource(address("/events", { last_event_id: lastId }));
    source.onopen = () => {
      pause = 1000;
      const wasLost = liveStore.get().lostAt !== null;
      change({ connection: "open", lostAt: null, nextTryAt: null });
      if (wasLost) void queries.invalidateQueries();
    };
    source.onerror = () => {
      source?.close();
      change({ connection: "lost", lostAt: liveStore.get().lostAt ?? Date.now(), nextTryAt: Date.now() + pause });
      retry = setTimeout(connect, pause);
      pause = Math.min(pause * 2, 30_000);
    };
    source.addEventListener("counters", (event) => {
      lastId = event.lastEventId || lastId;
      const parsed = v.safeParse(countersShape, parseJson(event.data as string));
      const through = parsed.success ? parseTime(parsed.output.through) : null;
      if (parsed.success && through !== null) noteThrough(parsed.output.fabric_id, through);
    });
    // Events were missed or, after a failover, taken back: their numbers come again for others.
    source.addEventListener("reset", (event) => {
      lastId = event.lastEventId || lastId;
      void queries.invalidateQueries();
    });
    for (const [kind, keys] of Object.entries(INVALIDATES)) {
      source.addEventListener(kind, (event) => {
        lastId = (event as MessageEvent).lastEventId || lastId;
        keys.forEach(invalidateSoon);
      });
    }
  };

  connect();
  return () => {
    source?.close();
    clearTimeout(retry);
    due.forEach(clearTimeout);
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
