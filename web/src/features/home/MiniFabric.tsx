import { capital, wordsOf } from "../../machine/words";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo } from "react";
import { momentOf } from "../../api/queries";
import type { Congestion } from "../../api/shapes";
import { HeatLegend } from "../../charts/legends";
import { plural } from "../../lib/format";
import { useStore, type Store } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { isoTime } from "../../lib/time";
import type { Scene, Values } from "../../machine/scene";
import { TilesView, type ViewProps } from "../../machine/usePicture";
import { WINDOW_MS } from "./useHome";

const NO_JOBS: string[] = [];
const DAY_MS = 86_400_000;

/** Fetched on a wall alone. */
const WallRing = lazy(async () => ({ default: (await import("../fabric/WallRing")).RingView }));

/** The machine in small: the same tiles as on its page, or on a wall its ring. */
export function MiniFabric({
  scene,
  values,
  congestion,
  when,
  edge,
  ring,
}: {
  scene: Scene;
  values: Store<Values | null>;
  when: { from?: string; to?: string };
  /** Newest data, or the end of the time that home shows; null without any. */
  edge: number | null;
  congestion: Congestion | null;
  ring: boolean;
}) {
  const navigate = useNavigate();
  const theme = useStore(themeStore);
  const open = useCallback(
    (router: number) => {
      void navigate({ to: "/fabric/$fabric", params: { fabric: scene.fabric.name }, search: { ...when, router } });
    },
    [navigate, scene.fabric.name, when],
  );
  const openLinks = useCallback(
    (what: { link: number } | { pair: string }) => {
      const search = { ...when, view: "links" as const, ...what };
      void navigate({ to: "/fabric/$fabric", params: { fabric: scene.fabric.name }, search });
    },
    [navigate, scene.fabric.name, when],
  );
  const noJobs = useCallback(() => NO_JOBS, []);
  const moment = useMemo(
    () => (edge === null ? { at: null, windowMs: WINDOW_MS } : momentOf({ from: edge - WINDOW_MS, to: edge })),
    [edge],
  );
  const view: ViewProps = {
    scene,
    values,
    selected: null,
    jobs: [],
    jobsAt: noJobs,
    onSelect: open,
    onDescend: open,
    label: `${capital(wordsOf(scene.fabric).routers)} of ${scene.fabric.name} coloured by ${wordsOf(scene.fabric).ratio} in ${scene.fabric.snapshot ? "one sample" : when.to ? "these ten minutes" : "the last ten minutes"}`,
  };
  return (
    <section className="card home-fabric" aria-label="Fabric">
      <div className="card-head">
        <div className="card-title">
          <h2>Fabric</h2>
          <span className="subtitle">{plural(scene.arrangement.panels.length, scene.arrangement.noun)}</span>
        </div>
        {edge !== null && !scene.fabric.snapshot && (
          <Link
            to="/fabric/$fabric"
            params={{ fabric: scene.fabric.name }}
            search={{
              from: isoTime(edge - DAY_MS),
              to: isoTime(edge),
              span: "24h",
              diff: "on",
              against: "week-ago",
            }}
            title="The last 24 hours compared with the same 24 hours a week earlier"
          >
            Compared with last week
          </Link>
        )}
        <Link to="/fabric/$fabric" params={{ fabric: scene.fabric.name }} search={when}>
          Open
        </Link>
      </div>
      <div className="home-picture">
        {ring ? (
          <Suspense>
            <WallRing
              {...view}
              congestion={congestion}
              before={null}
              moment={moment}
              earlier={null}
              onLinks={openLinks}
            />
          </Suspense>
        ) : (
          <TilesView {...view} />
        )}
      </div>
      <div className="home-legend">
        <HeatLegend theme={theme} what="all classes" words={wordsOf(scene.fabric).ratio} width={288} />
      </div>
    </section>
  );
}
