import { capital, wordsOf } from "../../machine/words";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { HeatLegend } from "../../charts/legends";
import { plural } from "../../lib/format";
import { useStore, type Store } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { isoTime } from "../../lib/time";
import type { Scene, Values } from "../../machine/scene";
import { TilesView } from "../../machine/TilesView";

const NO_JOBS: string[] = [];
const DAY_MS = 86_400_000;

/** The machine in small: the same tiles as on its page. */
export function MiniFabric({
  scene,
  values,
  when,
  edge,
}: {
  scene: Scene;
  values: Store<Values | null>;
  when: { from?: string; to?: string };
  /** Newest data, or the end of the time that home shows; null without any. */
  edge: number | null;
}) {
  const navigate = useNavigate();
  const theme = useStore(themeStore);
  const open = useCallback(
    (router: number) => {
      void navigate({ to: "/fabric/$fabric", params: { fabric: scene.fabric.name }, search: { ...when, router } });
    },
    [navigate, scene.fabric.name, when],
  );
  const noJobs = useCallback(() => NO_JOBS, []);
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
        <TilesView
          scene={scene}
          values={values}
          selected={null}
          jobs={[]}
          jobsAt={noJobs}
          onSelect={open}
          onDescend={open}
          label={`${capital(wordsOf(scene.fabric).routers)} of ${scene.fabric.name} coloured by ${wordsOf(scene.fabric).ratio} in the last ten minutes`}
        />
      </div>
      <div className="home-legend">
        <HeatLegend theme={theme} what="all classes" words={wordsOf(scene.fabric).ratio} width={288} />
      </div>
    </section>
  );
}
