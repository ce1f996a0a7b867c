import { useEffect, useState } from "react";
import type { Freshness } from "../api/freshness";
import { clock } from "../lib/time";
import { duration } from "../lib/format";

/** What stopped, what is still right, and when the next try is. */
export function StaleBanner({ fresh, shown }: { fresh: Freshness; shown: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (fresh.through === null) return null;
  const next = fresh.nextTryAt === null ? null : Math.max(0, Math.ceil((fresh.nextTryAt - now) / 1000));
  return (
    <div className="banner" role="status">
      <strong>Live data stopped at {clock(fresh.through, true)}.</strong>
      <span>
        {shown && `You see ${shown} as it was collected. `}
        {fresh.reason === "connection"
          ? `The connection is lost; ${next ? `next try in ${duration(next)}` : "trying again"}.`
          : "The connection is fine, but no new samples arrive."}
      </span>
      <span className="spacer" />
      <a href="/health">What is affected</a>
    </div>
  );
}
