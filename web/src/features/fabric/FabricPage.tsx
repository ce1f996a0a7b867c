/** A whole machine: picture, group matrix, selected router and time, all driven by one address. */
import { capital, wordsOf } from "../../machine/words";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo } from "react";
import { fabricsQuery, routersQuery } from "../../api/queries";
import { useFreshness } from "../../api/freshness";
import type { Fabric } from "../../api/shapes";
import { neighbour } from "../../charts/arrange";
import { ChangeLegend, HeatLegend } from "../../charts/legends";
import { Misaddressed } from "../../components/Misaddressed";
import { Empty, Failure, refused, Unanswered, Waiting } from "../../components/Notice";
import { StaleBanner } from "../../components/StaleBanner";
import { plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { AddressError } from "../../lib/address";
import { intervalText, isoTime, parseTime, type TimeWindow } from "../../lib/time";
import { AXES, type FabricSearch, type View } from "./address";
import { CablesPanel } from "./CablesPanel";
import { againstText, aroundMark, clockwork, comparisonOf, neighbouring, TICK_MS } from "./clockwork";
import { ContextBar } from "./ContextBar";
import { DistributionPanel } from "./DistributionPanel";
import "./fabric.css";
import { GroupMatrix } from "./GroupMatrix";
import { RouterPanel } from "./RouterPanel";
import { devices, sceneOf, type Scene } from "../../machine/scene";
import { TimePanel } from "./TimePanel";
import { useJobs } from "./useJobs";
import { usePlay } from "./usePlay";
import { useTrailing } from "./useTrailing";
import { useSenders } from "../../machine/senders";
import { useSelection } from "./useSelection";
import { useValues } from "./useValues";
import { defaultView, PictureView, viewsOf } from "./views";
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
  const navigate = useNavigate({ from: "/fabric/$fabric" });
  const queries = useQueryClient();
  const fresh = useFreshness(fabric);
  const edge = fresh.through === null ? null : Math.floor(fresh.through / TICK_MS) * TICK_MS;
  const first = parseTime(fabric.first_ts);
  const play = usePlay();
  const { held, setStage } = play;
  const resting = useMemo(
    () => (fabric.snapshot || edge === null ? null : clockwork(search, edge, first)),
    [fabric.snapshot, search, edge, first],
  );
  // While a window plays, every panel shows that one, on an axis that stays.
  const clock = useMemo(
    () =>
      resting && held ? { ...resting, ...held, comparison: comparisonOf(search, held.window), live: false } : resting,
    [resting, held, search],
  );
  const difference = search.diff === "on" && clock !== null;
  const views = viewsOf(fabric);
  const view: View = search.view && views.includes(search.view) ? search.view : defaultView(fabric);

  const change = useCallback(
    (patch: Partial<FabricSearch>, push = false) => {
      void navigate({ to: ".", search: (old) => ({ ...old, ...patch }), replace: !push });
    },
    [navigate],
  );

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
  const selectedGroup = scene && selected !== null ? (scene.machine.group[selected] ?? null) : null;

  const select = useCallback((router: number) => change({ router }), [change]);
  const openLinks = useCallback(
    (what: { link: number } | { pair: string }) =>
      change({ view: "links", pair: undefined, link: undefined, ...what }, true),
    [change],
  );
  const openPair = useCallback((src: number, dst: number) => openLinks({ pair: `${src}-${dst}` }), [openLinks]);
  const descend = useCallback(
    (router: number) => {
      const closer: View | undefined = views.includes("group") && view !== "group" ? "group" : undefined;
      change({ router, ...(closer && { view: closer }) }, true);
    },
    [change, views, view],
  );

  const cut = useCallback((slice: number | null) => change({ slice: slice ?? undefined }), [change]);
  const commit = useCallback(
    (window: TimeWindow, comparing: boolean) => {
      if (comparing) change({ diff: "on", cfrom: isoTime(window.from), cto: isoTime(window.to) });
      else change({ from: isoTime(window.from), to: isoTime(window.to) });
    },
    [change],
  );
  const zoom = useCallback(
    (span: TimeWindow | null) =>
      change({
        afrom: span ? isoTime(span.from) : undefined,
        ato: span ? isoTime(span.to) : undefined,
        // A zoomed axis stands still, and so does its window.
        ...(span && clock && { from: isoTime(clock.window.from), to: isoTime(clock.window.to) }),
      }),
    [change, clock],
  );
  const { preview, prepare } = values;
  const drag = useCallback(
    (window: TimeWindow, comparing: boolean) => {
      if (!clock) return;
      if (comparing) preview(clock.window, window);
      else preview(window, difference ? comparisonOf(search, window) : null);
    },
    [preview, clock, difference, search],
  );
  useEffect(() => {
    setStage(
      clock && {
        window: clock.window,
        span: clock.span,
        stepMs: clock.stepMs,
        show: (window) => drag(window, false),
        busy: () => queries.isFetching({ queryKey: ["counters", fabric.id] }) > 0,
        prepare,
        rest: (window) => commit(window, false),
      },
    );
  }, [setStage, clock, drag, prepare, commit, queries, fabric.id]);
  const around = useCallback(
    (at: number) => {
      if (!clock) return;
      const { after, before } = aroundMark(at, clock.window.to - clock.window.from, edge ?? clock.window.to);
      change(
        {
          diff: "on",
          from: isoTime(after.from),
          to: isoTime(after.to),
          cfrom: isoTime(before.from),
          cto: isoTime(before.to),
          against: undefined,
        },
        true,
      );
    },
    [clock, edge, change],
  );

  const bindings = useMemo(() => {
    const step = (dRow: number, dCol: number) => () => {
      if (!scene || selected === null) return;
      const next = neighbour(scene.arrangement, selected, dRow, dCol);
      if (next !== null) select(next);
    };
    const shift = (by: 1 | -1) => () => {
      if (!clock) return;
      const next = neighbouring(clock.window, by, edge ?? clock.window.to);
      if (next) change({ from: isoTime(next.from), to: isoTime(next.to) });
    };
    return [
      ...views.map((v, i) => ({ keys: String(i + 1), label: `View: ${v}`, run: () => change({ view: v }, true) })),
      { keys: "d", label: "Difference", run: () => change({ diff: difference ? undefined : "on" }) },
      { keys: "l", label: "Follow live data", run: () => change({ from: undefined, to: undefined }) },
      { keys: "[", label: "Earlier window", run: shift(-1) },
      { keys: "]", label: "Later window", run: shift(1) },
      { keys: "ArrowLeft", label: "Move the selection (arrow keys)", run: step(0, -1) },
      { keys: "ArrowRight", label: "", run: step(0, 1), silent: true },
      { keys: "ArrowUp", label: "", run: step(-1, 0), silent: true },
      { keys: "ArrowDown", label: "", run: step(1, 0), silent: true },
      { keys: "Enter", label: "Closer", run: () => selected !== null && descend(selected) },
      {
        keys: "Escape",
        label: "Back",
        run: () => (view === "group" ? change({ view: undefined }, true) : change({ router: undefined })),
      },
    ];
  }, [scene, selected, clock, edge, views, view, difference, change, select, descend]);
  useKeys("Fabric", bindings);

  useOrigin({
    machine: fabric.name,
    simulated: fabric.simulated,
    window: clock?.window ?? null,
    search: () => (clock ? { from: isoTime(clock.window.from), to: isoTime(clock.window.to) } : {}),
  });
  const groupMatrix =
    fabric.kind === "dragonfly" &&
    view !== "table" &&
    view !== "links" &&
    view !== "tree" &&
    (scene?.groups.length ?? 0) > 1;
  const words = useMemo(() => wordsOf(fabric), [fabric]);
  // The day is said where it is not that of the newest data.
  const window = clock ? intervalText(clock.window, edge ?? clock.span.to) : "";
  const [what, how]: [string, string] =
    fabric.snapshot || !clock
      ? [
          `${devices(fabric)}${fabric.groups.length > 1 ? ` in ${plural(fabric.groups.length, "group")}` : ""}`,
          fabric.snapshot ? "one sample" : "no counters yet, so traffic is unknown",
        ]
      : difference
        ? [window, `against ${intervalText(clock.comparison, clock.window.from)}`]
        : [
            `${window}${clock.live && fresh.state !== "recorded" ? ", live" : ""}`,
            `sum of ${words.stalls} ÷ sum of ${words.flits}`,
          ];
  // The same pair until its words change: the bar is not drawn anew while a window plays.
  const shown = useMemo<[string, string]>(() => [what, how], [what, how]);
  const theme = useStore(themeStore);
  const label = `${capital(words.routers)} of ${fabric.name} coloured by ${difference ? "change of " : ""}${words.ratio}${window ? `, ${window}` : ""}. The Table view lists the same figures.`;
  const senders = useSenders(fabric.id, routerMoment);
  const viewProps = scene && {
    scene,
    values: values.store,
    selected,
    jobs: jobs.overlays,
    jobsAt: jobs.at,
    senders,
    label,
    onSelect: select,
    onDescend: descend,
  };
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
        onMark={around}
        change={change}
      />
      {fresh.state === "stale" && <StaleBanner fresh={fresh} shown={window} />}
      <div className="fabric-main">
        <section className="card picture" aria-label="Picture">
          {!viewProps ? (
            <Waiting what="the machine" />
          ) : refused(values.asked) || (view === "table" && !values.congestion) ? (
            <Unanswered what={difference ? "both windows" : "the window"} asked={values.asked} />
          ) : (
            <PictureView
              view={view}
              {...viewProps}
              moment={values.moment}
              earlier={values.earlier}
              congestion={values.congestion}
              before={values.before}
              linkClass={search.class ?? null}
              slice={search.slice ?? null}
              onSlice={cut}
              search={search}
              change={change}
              onLinks={openLinks}
              legend={
                groupMatrix ? null : values.before ? (
                  <ChangeLegend theme={theme} against={againstText(search)} />
                ) : (
                  <HeatLegend theme={theme} what="all classes" words={words.ratio} />
                )
              }
            />
          )}
          {groupMatrix && scene && (
            <GroupMatrix
              groups={scene.groups}
              words={words}
              congestion={values.congestion}
              before={values.before}
              selectedGroup={selectedGroup}
              jobGroups={jobs.groups}
              asked={values.asked}
              what={search.class ? `${search.class} links` : "all classes"}
              against={againstText(search)}
              onOpenPair={openPair}
              playing={play.playing}
            />
          )}
        </section>
        {scene && selected !== null ? (
          <RouterPanel
            scene={scene}
            router={selected}
            moment={routerMoment}
            span={clock?.span ?? null}
            at={search.to}
            onSelect={select}
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
          onDrag={drag}
          onCommit={commit}
          onPrepare={prepare}
          onMark={around}
          play={play}
          zoomed={search.afrom !== undefined}
          onZoom={zoom}
        />
      )}
    </div>
  );
}
