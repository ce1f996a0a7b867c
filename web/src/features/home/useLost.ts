/** What the incidents of a span cost. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { incidentsQuery } from "../../api/incident";
import type { Fabric } from "../../api/shapes";
import { isoTime, type TimeWindow } from "../../lib/time";

const HOUR_MS = 3_600_000;
const MOST = 1000;

/** `window`: null while the newest moment is unknown; `past`: whether it ends at a moment of the past, not now. */
export function useLost(fabric: Fabric, window: TimeWindow | null, past: boolean) {
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
  const told = useMemo(() => {
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
  return { lost, told };
}
