/** Jobs laid over the picture, and who computes on each router. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { jobQuery, occupancyQuery } from "../../api/queries";
import { ApiError } from "../../api/client";
import type { Occupancy } from "../../api/shapes";
import { type QueryState, useQueryState } from "../../components/Notice";
import { plural } from "../../lib/format";
import type { JobOverlay, Scene } from "../../machine/scene";

export interface FabricJobs {
  overlays: JobOverlay[];
  /** Routers of the first job laid over, for the default selection. */
  members: ReadonlySet<number> | null;
  groups: ReadonlySet<number>;
  present: Occupancy["jobs"];
  at: (router: number) => string[];
  /** Jobs that the address names and nothing is laid over for, with the reason. */
  failed: { id: string; text: string; reason: string }[];
  /** Who was there then. */
  asked: QueryState[];
}

const NONE: ReadonlySet<number> = new Set();
/** Jobs change slowly: who is where is asked at most each half minute. */
const PACE_MS = 30_000;
const MOST = 4;

export function useJobs(
  scene: Scene | null,
  fabric: number,
  chosen: string | undefined,
  at: number | null,
): FabricJobs {
  const when = at === null ? null : Math.floor(at / PACE_MS) * PACE_MS;
  const occupancy = useQuery({ ...occupancyQuery(fabric, when), enabled: scene !== null });
  const named = useMemo(() => [...new Set(chosen?.split(",").filter(Boolean))], [chosen]);
  const ids = useMemo(() => named.slice(0, MOST), [named]);
  const details = useQueries({
    queries: ids.map((id) => jobQuery(id)),
    combine: (results) => ({ data: results.map((r) => r.data), errors: results.map((r) => r.error) }),
  });
  const present = useMemo(() => occupancy.data?.jobs ?? [], [occupancy.data]);
  const overlays = useMemo(
    () =>
      ids.flatMap((id, i): JobOverlay[] => {
        const job = details.data[i];
        const here = present.find((p) => p.job_id === id);
        const routers = here?.routers ?? job?.routers ?? [];
        const name = job?.name ?? here?.name ?? "";
        const nodes = job?.nodes ?? here?.nodes ?? null;
        return job || here
          ? [
              {
                id,
                label: `${id} ${name}${nodes === null ? "" : ` · ${plural(nodes, "node")}`}`,
                routers: new Set(routers),
              },
            ]
          : [];
      }),
    [ids, details.data, present],
  );
  const failed = useMemo(
    () => [
      ...named
        .slice(MOST)
        .map((id) => ({ id, text: `Job ${id} is not drawn`, reason: `At most ${MOST} jobs are drawn at once.` })),
      ...ids.flatMap((id, i) => {
        const error = details.errors[i];
        if (!error || overlays.some((job) => job.id === id)) return [];
        const unknown = error instanceof ApiError && error.problem.status === 404;
        return [{ id, text: unknown ? `Job ${id} not found` : `Job ${id} cannot be shown`, reason: error.message }];
      }),
    ],
    [named, ids, details.errors, overlays],
  );
  const members = overlays[0]?.routers ?? null;
  const groups = useMemo(() => {
    if (!scene || !overlays.length) return NONE;
    const found = new Set<number>();
    for (const job of overlays)
      for (const router of job.routers) {
        const group = scene.machine.group[router];
        if (group != null) found.add(group);
      }
    return found;
  }, [scene, overlays]);
  const byRouter = useMemo(() => {
    const map = new Map<number, string[]>();
    for (const job of present)
      for (const router of job.routers) {
        const line = `${job.job_id} ${job.name ?? ""}${job.user ? ` (${job.user})` : ""}`;
        const list = map.get(router);
        if (list) list.push(line);
        else map.set(router, [line]);
      }
    return map;
  }, [present]);
  const jobsAt = useCallback((router: number) => byRouter.get(router) ?? [], [byRouter]);
  const state = useQueryState(occupancy);
  return useMemo(
    () => ({ overlays, members, groups, present, at: jobsAt, failed, asked: [state] }),
    [overlays, members, groups, present, jobsAt, failed, state],
  );
}
