/** A whole machine: picture, group matrix, selected router and time, all driven by one address. */
import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useFreshness } from "../../api/freshness";
import { fabricsQuery, routersQuery } from "../../api/queries";
import type { Fabric } from "../../api/shapes";
import { Empty, Failure, refused, StaleBanner, Unanswered, Waiting } from "../../components/Notice";
import { refuseUnless } from "../../lib/address";
import { plural } from "../../lib/format";
import { currentMachine, machineStore } from "../../lib/machine";
import { useOrigin } from "../../lib/origin";
import { useStore } from "../../lib/store";
import { intervalText, isoTime } from "../../lib/time";
import { devices, type Scene, sceneOf } from "../../machine/scene";
import { wordsOf } from "../../machine/words";
import { CablesPanel } from "./CablesPanel";
import { ContextBar } from "./ContextBar";
import { DiagnosisPanel } from "./DiagnosisPanel";
import { DistributionPanel } from "./DistributionPanel";
import { defaultView, FabricPicture, viewsOf } from "./FabricPicture";
import { RouterPanel } from "./RouterPanel";
import { TimePanel } from "./TimePanel";
import { AXES, unfit, type View } from "./address";
import type { Clockwork } from "./clockwork";
import "./fabric.css";
import { useClock, usePlay } from "./playback";
import { useActions, useFabricKeys, useSelection, useStage } from "./useActions";
import { useJobs } from "./useJobs";
import { useTrailing, useValues } from "./useValues";

/** /fabric without a machine: the one last looked at. */
export function FabricIndex() {
  const fabrics = useQuery(fabricsQuery());
  const remembered = useStore(machineStore);
  if (fabrics.error && !fabrics.data)
    return <Failure page error={fabrics.error} retry={() => void fabrics.refetch()} />;
  if (!fabrics.data) return <Waiting what="the machines" />;
  const machine = currentMachine(fabrics.data.items, remembered);
  if (machine) return <Navigate to="/fabric/$fabric" params={{ fabric: machine.name }} replace />;
  return (
    <Empty page title="No machines yet">
      Start the twin with <code>flitwatch up</code>, or import a topology: <code>flitwatch import fabric FILE</code>.
    </Empty>
  );
}

// What a fabric's picture shows, in two short lines: the bar has room for both.

/** `window`: that of the clock in words; `recorded`: nothing counts on the machine any more. */
function shownWords(
  fabric: Fabric,
  clock: Clockwork | null,
  difference: boolean,
  window: string,
  recorded: boolean,
): [string, string] {
  if (fabric.snapshot || !clock)
    return [
      `${devices(fabric)}${fabric.groups.length > 1 ? ` in ${plural(fabric.groups.length, "group")}` : ""}`,
      fabric.snapshot ? "one sample" : "no counters yet, so traffic is unknown",
    ];
  if (difference) return [window, `against ${intervalText(clock.comparison, clock.window.from)}`];
  const words = wordsOf(fabric);
  return [`${window}${clock.live && !recorded ? ", live" : ""}`, `sum of ${words.stalls} ÷ sum of ${words.flits}`];
}

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
  const search = useSearch({ from: "/fabric/$fabric" });
  const { axis, router, view } = search;
  const scene = useMemo(
    () => (routers.data ? sceneOf(fabric, routers.data, axis && AXES.indexOf(axis)) : null),
    [fabric, routers.data, axis],
  );
  if (routers.error && !scene) return <Failure page error={routers.error} retry={() => void routers.refetch()} />;
  refuseUnless(view === undefined || viewsOf(fabric).includes(view), `${fabric.name} has no view "${view}".`, "view");
  refuseUnless(
    !scene || router === undefined || router < scene.machine.size,
    `${fabric.name} has no router ${router}.`,
    "router",
  );
  const [reason, ...keys] = unfit(fabric, search) ?? [];
  refuseUnless(reason === undefined, reason ?? "", ...keys);
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
      {clock && values.before?.routers.coverage.every((share) => !share) && (
        <p className="banner" role="status">
          No counters are stored for {intervalText(clock.comparison, edge ?? clock.span.to)}, so no change is shown.
          Compare with another window: choose “Against”.
        </p>
      )}
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
            {refused(values.asked) ? (
              <Unanswered what={`the ${words.router}`} asked={values.asked} />
            ) : (
              <Waiting what={`the ${words.router}`} />
            )}
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
