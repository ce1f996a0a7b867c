/** Above a page that a portal shows in a frame: which machine it speaks of, whether that is simulated, how fresh it is, and the way out of the frame. */
import { useRouterState } from "@tanstack/react-router";
import type { Fabric } from "../api/shapes";
import { whole } from "../lib/embed";
import { Freshness } from "./Freshness";

export function EmbedBar({ machine }: { machine: Fabric | null }) {
  const address = useRouterState({ select: (state) => state.location.href });
  return (
    <header className="top">
      {machine && (
        <>
          <span className="ellipsis">{machine.name}</span>
          {machine.simulated && <span className="tag">simulated</span>}
        </>
      )}
      <div className="spacer" />
      <Freshness fabric={machine} />
      <a href={whole(address)} target="_blank" rel="noopener">
        Open in Flitwatch
      </a>
    </header>
  );
}
