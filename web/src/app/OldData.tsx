/** Said once above any page: what is shown is older than it should be, and since when. */
import { useRouterState } from "@tanstack/react-router";
import { useTrouble } from "../api/trouble";
import { clock, ZONE } from "../lib/time";

// These say themselves how fresh their pictures are.
const SPEAK_FOR_THEMSELVES = /^\/($|fabric)/;

export function OldData() {
  const { since } = useTrouble();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (since === null || SPEAK_FOR_THEMSELVES.test(path)) return <div className="app-banner" />;
  return (
    <div className="app-banner">
      <div className="banner" role="status">
        <strong>
          Stale: as of {clock(since, true)} {ZONE}.
        </strong>
        <span>The server or its database does not answer. The page keeps what it has and retries automatically.</span>
      </div>
    </div>
  );
}
