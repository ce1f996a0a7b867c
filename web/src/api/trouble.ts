/** What of the page's own questions the server cannot answer now: a stream that goes on does not make that live. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { ApiError } from "./client";

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
