/** Which window and axis an address means, at the newest data; while a window plays, that one, on an axis that stays. */
import { useMemo } from "react";
import type { Fabric } from "../../api/shapes";
import { parseTime } from "../../lib/time";
import type { FabricSearch } from "./address";
import { clockwork, comparisonOf, TICK_MS, type Clockwork } from "./clockwork";
import type { Playback } from "./usePlay";

export function useClock(
  fabric: Fabric,
  search: FabricSearch,
  through: number | null,
  held: Playback["held"],
): { edge: number | null; clock: Clockwork | null } {
  const edge = through === null ? null : Math.floor(through / TICK_MS) * TICK_MS;
  const first = parseTime(fabric.first_ts);
  const resting = useMemo(
    () => (fabric.snapshot || edge === null ? null : clockwork(search, edge, first)),
    [fabric.snapshot, search, edge, first],
  );
  const clock = useMemo(
    () =>
      resting && held ? { ...resting, ...held, comparison: comparisonOf(search, held.window), live: false } : resting,
    [resting, held, search],
  );
  return { edge, clock };
}
