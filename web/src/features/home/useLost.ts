/** What the incidents of the day so far cost, as UTC counts days. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { incidentsQuery } from "../../api/incident";
import type { Fabric } from "../../api/shapes";
import { isoTime } from "../../lib/time";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MOST = 1000;

/** `through`: the newest moment that is shown; `chosen`: a moment of the past, null while the page is live. */
export function useLost(fabric: Fabric, through: number | null, chosen: number | null) {
  const midnight = through === null ? null : through - (through % DAY_MS);
  const from = midnight === null ? undefined : isoTime(midnight);
  const lost = useInfiniteQuery({
    ...incidentsQuery({ fabric: fabric.name, from, ...(chosen !== null && { to: isoTime(chosen) }) }, MOST),
    enabled: midnight !== null && !fabric.snapshot,
  });
  const today = useMemo(() => {
    const [page] = lost.data?.pages ?? [];
    if (!page || midnight === null || through === null) return null;
    const incidents = page.items.filter((one) => one.state !== "withdrawn");
    return { incidents, more: page.next_cursor !== null, hours: (through - midnight) / HOUR_MS };
  }, [lost.data, midnight, through]);
  return { lost, today };
}
