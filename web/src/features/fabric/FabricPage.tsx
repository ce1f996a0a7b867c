/** A whole machine: picture, group matrix, selected router and time, all driven by one address. */
import { wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { fabricsQuery, routersQuery } from "../../api/queries";
import { useFreshness } from "../../api/freshness";
import type { Fabric } from "../../api/shapes";
import { Misaddressed } from "../../components/Misaddressed";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { StaleBanner } from "../../components/StaleBanner";
import { AddressError } from "../../lib/address";
import { intervalText, isoTime } from "../../lib/time";
import { AXES, type View } from "./address";
import { CablesPanel } from "./CablesPanel";
import { ContextBar } from "./ContextBar";
import { DiagnosisPanel } from "./DiagnosisPanel";
import { DistributionPanel } from "./DistributionPanel";
import "./fabric.css";
import { FabricPicture } from "./FabricPicture";
import { RouterPanel } from "./RouterPanel";
import { shownWords } from "./shownWords";
import { sceneOf, type Scene } from "../../machine/scene";
import { TimePanel } from "./TimePanel";
import { useActions } from "./useActions";
import { useClock } from "./useClock";
import { useFabricKeys } from "./useFabricKeys";
import { useJobs } from "./useJobs";
import { usePlay } from "./usePlay";
import { useStage } from "./useStage";
import { useTrailing } from "./useTrailing";
import { useSelection } from "./useSelection";
import { useValues } from "./useValues";
import { defaultView, viewsOf } from "./views";
import { useOrigin } from "../../lib/origin";

/** After the window has moved on by itself. */
const ROUTER_AFTER_MS = 170;
const JOBS_AFTER_MS = 330;

export function FabricPage() {
  const { fabric: name } = useParams({ from: "/fabric/$fabric" });
  const fabrics = useQuery(fabricsQuery());
  const fabric = fabrics.data?.items.find((f) => f.name === name || String(f.id) === name);
  if (fabrics.error && !fabrics.data)
    return <Failure page error={fabrics.error} retry={() => void fabrics.refetch()} />;
  if (!fabrics.data) return <Waiting what="the machine" />;
  if (!fabric)
    return (
      <Empty page title={`Machine ${name} not found`}>
        Choose one on the left of the top bar.
      </Empty>
    );
  return <FabricOf key={fabric.id} fabric={fabric} />;
}

function FabricOf({ fabric }: { fabric: Fabric }) {
  const routers = useQuery(routersQuery(fabric.name));
  const { axis, router, view } = useSearch({ from: "/fabric/$fabric" });
  const scene = useMemo(
    () => (routers.data ? sceneOf(fabric, routers.data, axis && AXES.indexOf(axis)) : null),
    [fabric, routers.data, axis],
  );
  if (routers.error && !scene) return <Failure error={routers.error} retry={() => void routers.refetch()} />;
  if (view !== undefined && !viewsOf(fabric).includes(view))
    return <Misaddressed error={new AddressError(`${fabric.name} has no view "${view}".`, ["view"])} />;
  if (scene && router !== undefined && router >= scene.machine.size)
    return <Misaddressed error={new AddressError(`${fabric.name} has no router ${router}.`, ["router"])} />;
  return <FabricBody fabric={fabric} scene={scene} />;
}

function FabricBody({ fabric, scene }: { fabric: Fabric; scene: Scene | null }) {
  const search = useSearch({ from: "/fabric/$fabric" });
  const fresh = useFreshness(fabric);
  const play = usePlay();
  const { edge, clock } = useClock(fabric, search, fresh.through, play.held);
  const difference = search.diff === "on" && clock !== null;
  const views = viewsOf(fabric);
  const view: View = search.view && views.includes(search.view) ? search.view : defaultView(fabric);
  const values = useValues({
    scene,
    fabric: fabric.id,
    clock,
    linkClass: search.class ?? null,
    difference,
    playing: play.playing,
  });
  // While a window plays, the rest follows the picture's figures: answers that came together would hold up one frame.
  const routerMoment = useTrailing(values.moment, ROUTER_AFTER_MS, play.playing);
  const jobsAt = useTrailing(clock?.window.to ?? null, JOBS_AFTER_MS, play.playing);
  const jobs = useJobs(scene, fabric.id, search.job, jobsAt);
  const selected = useSelection(values.store, search.router, jobs.members, scene);
  const actions = useActions({ search, clock, edge, views, view, preview: values.preview });
  useStage({ fabric: fabric.id, play, clock, prepare: values.prepare, drag: actions.drag, commit: actions.commit });
  useFabricKeys({ scene, selected, clock, edge, views, view, difference, actions });
  useOrigin({
    machine: fabric.name,
    simulated: fabric.simulated,
    window: clock?.window ?? null,
    search: () => (clock ? { from: isoTime(clock.window.from), to: isoTime(clock.window.to) } : {}),
  });
  const words = useMemo(() => wordsOf(fabric), [fabric]);
  // The day is said where it is not that of the newest data.
  const window = clock ? intervalText(clock.window, edge ?? clock.span.to) : "";
  const [what, how] = shownWords(fabric, clock, difference, window, fresh.state === "recorded");
  // The same pair until its words change: the bar is not drawn anew while a window plays.
  const shown = useMemo<[string, string]>(() => [what, how], [what, how]);
  const diagnosed = view === "tree" && search.router === undefined;
  return (
    <div className="fabric-page">
      <ContextBar
        fabric={fabric}
        scene={scene}
        search={search}
        view={view}
        views={views}
        shown={shown}
        jobs={jobs}
        values={values.store}
        congestion={values.congestion}
        selected={selected}
        moment={values.moment}
        clock={clock}
        onMark={actions.around}
        change={actions.change}
      />
      {fresh.state === "stale" && <StaleBanner fresh={fresh} shown={window} />}
      <div className="fabric-main">
        <FabricPicture
          fabric={fabric}
          scene={scene}
          search={search}
          view={view}
          values={values}
          jobs={jobs}
          selected={selected}
          moment={routerMoment}
          window={window}
          difference={difference}
          playing={play.playing}
          actions={actions}
        />
        {scene && diagnosed ? (
          <DiagnosisPanel
            scene={scene}
            search={search}
            moment={routerMoment}
            selected={selected}
            onSelect={actions.select}
          />
        ) : scene && selected !== null ? (
          <RouterPanel
            scene={scene}
            router={selected}
            moment={routerMoment}
            span={clock?.span ?? null}
            at={search.to}
            onSelect={actions.select}
          />
        ) : (
          <aside className="card" aria-label={`Selected ${words.router}`}>
            <Waiting what={`the ${words.router}`} />
          </aside>
        )}
      </div>
      <CablesPanel fabric={fabric.id} />
      {fabric.snapshot && <DistributionPanel fabric={fabric.id} words={words.ratio} moment={values.moment} />}
      {clock && (
        <TimePanel
          fabric={fabric.id}
          name={fabric.name}
          words={words}
          clock={clock}
          difference={difference}
          through={fresh.through}
          stale={fresh.state === "stale"}
          onDrag={actions.drag}
          onCommit={actions.commit}
          onPrepare={values.prepare}
          onMark={actions.around}
          play={play}
          zoomed={search.afrom !== undefined}
          onZoom={actions.zoom}
        />
      )}
    </div>
  );
}
