/** Said once above any page: what is shown is older than it should be, and since when. */
import { useQueryClient } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { useCallback, useSyncExternalStore } from "react";
import { clock, ZONE } from "../lib/time";

/** When the oldest of the shown answers came that could not be renewed; null: all were. */
function useNotRenewed(): number | null {
  const cache = useQueryClient().getQueryCache();
  const subscribe = useCallback((changed: () => void) => cache.subscribe(changed), [cache]);
  const oldest = useCallback(() => {
    let at: number | null = null;
    for (const query of cache.getAll()) {
      const { status, data, dataUpdatedAt } = query.state;
      if (query.isActive() && status === "error" && data !== undefined) at = Math.min(at ?? Infinity, dataUpdatedAt);
    }
    return at;
  }, [cache]);
  return useSyncExternalStore(subscribe, oldest);
}

// These say themselves how fresh their pictures are.
const SPEAK_FOR_THEMSELVES = /^\/($|fabric)/;

export function OldData() {
  const at = useNotRenewed();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (at === null || SPEAK_FOR_THEMSELVES.test(path)) return <div className="app-banner" />;
  return (
    <div className="app-banner">
      <div className="banner" role="status">
        <strong>Stale: as of {clock(at, true)} {ZONE}.</strong>
        <span>The server or its database does not answer. What you see stays; the page asks again by itself.</span>
      </div>
    </div>
  );
}
