/** Now: six figures that mean something to an operator, then what needs attention, each one click from its evidence. */
import { capital, wordsOf } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { fabricsQuery } from "../../api/queries";
import type { Fabric, Occupancy } from "../../api/shapes";
import { hottestPairs, pairsOf } from "../../charts/matrix";
import { CopyMoment } from "../../components/buttons";
import { Icon } from "../../components/Icon";
import { Menu, Segmented } from "../../components/choices";
import { answered, Empty, Failure, refused, StaleBanner, Unanswered, Waiting } from "../../components/Notice";
import { captureEntries } from "../../lib/capture";
import { refuseUnless } from "../../lib/address";
import { plural } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { currentMachine, machineStore } from "../../lib/machine";
import { isoTime, moment as momentText, parseTime, ZONE } from "../../lib/time";
import { Store, useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { wallStore } from "../../lib/wall";
import type { Values } from "../../machine/scene";
import { type Span, SPANS } from "../addresses";
import { attention, incidentItems, jobStalls } from "./attention";
import { itemColumns, SPAN_WORDS, stallColumns } from "./texts";
import { Coverage } from "./Coverage";
import { Figures, homeFigures } from "./homeFigures";
import "./home.css";
import { HotPairs } from "./HotPairs";
import { IncidentCard } from "./IncidentCard";
import { ItemRow, StalledJobs } from "./StalledJobs";
import { MiniFabric } from "./MiniFabric";
import { useHome, WINDOW_MS } from "./useHome";
import { WorstJobs } from "./WorstJobs";
import { address } from "../../api/client";
import { tableEntries } from "../../components/TableExport";
import { useOrigin } from "../../lib/origin";

/** Rows of what needs attention, of jobs by stalls next to it or alone, and of pairs of groups; a wall has room for more. */
const ROWS = { shown: 12, worst: 8, next: 8, alone: 24, pairs: 5 };
const WALL_ROWS = { shown: 14, worst: 16, next: 48, alone: 48, pairs: 12 };

const SPAN_LABELS: Record<Span, string> = { hour: "Last hour", today: "Today", week: "Week" };
const NO_JOBS: Occupancy["jobs"] = [];

export function HomePage() {
  const fabrics = useQuery(fabricsQuery());
  const remembered = useStore(machineStore);
  const search = useSearch({ from: "/" });
  if (fabrics.error && !fabrics.data)
    return <Failure page error={fabrics.error} retry={() => void fabrics.refetch()} />;
  if (!fabrics.data) return <Waiting what="the machines" />;
  const fabric = currentMachine(fabrics.data.items, search.machine ?? remembered);
  if (!fabric)
    return (
      <Empty page title="No machines yet">
        Start the twin with <code>flitwatch up</code>, or import a topology: <code>flitwatch import fabric FILE</code>,
        or <Link to="/connect">connect your own data</Link>.
      </Empty>
    );
  refuseUnless(search.at === undefined || !fabric.snapshot, `${fabric.name} has one sample without a time.`, "at");
  return <HomeOf key={fabric.id} fabric={fabric} chosen={parseTime(search.at)} spanName={search.span ?? "hour"} />;
}

function HomeOf({ fabric, chosen: past, spanName }: { fabric: Fabric; chosen: number | null; spanName: Span }) {
  const {
    fresh,
    through,
    edge,
    scene,
    values,
    routers,
    congestion,
    overview: overviewAnswer,
    occupancy: occupancyAnswer,
    ingest,
    forecasts,
    asksForecasts,
    spanned,
    coverage,
    lost,
    losses,
    alerts,
    running,
    incident,
    asked,
  } = useHome(fabric, past, spanName);
  const rows = useStore(wallStore) === null ? ROWS : WALL_ROWS;
  const [occupancy, overview] = [occupancyAnswer.data ?? null, overviewAnswer.data ?? null];
  const empty = !fabric.snapshot && through === null;
  // What every link to the fabric page carries: the moment, unless it is now.
  const when = useMemo(
    () => (past === null || edge === null ? {} : { from: isoTime(edge - WINDOW_MS), to: isoTime(edge) }),
    [past, edge],
  );
  const navigate = useNavigate();
  const kept = spanName === "hour" ? {} : { span: spanName };
  useOrigin({
    machine: fabric.name,
    simulated: fabric.simulated,
    window: edge === null ? null : { from: edge - WINDOW_MS, to: edge },
    search: () => ({ ...kept, machine: fabric.name, at: edge === null || fabric.snapshot ? undefined : isoTime(edge) }),
  });
  const theme = useStore(themeStore);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  const [store] = useState(() => new Store<Values | null>(null));
  useEffect(() => {
    if (values) store.set(values);
  }, [store, values]);
  const stalls = useMemo(
    () =>
      values && occupancy
        ? jobStalls(occupancy.jobs, values.window, fabric.snapshot || edge === null ? null : edge - WINDOW_MS)
        : [],
    [values, occupancy, fabric.snapshot, edge],
  );
  const words = useMemo(() => wordsOf(fabric), [fabric]);
  const items = useMemo(
    () =>
      attention({
        fabric: fabric.name,
        when,
        noun: scene?.arrangement.noun ?? "group",
        words,
        window: values?.window ?? null,
        incident: incident.data ?? null,
        ingest,
        forecasts,
        alerts,
        now,
        panels:
          scene && values
            ? scene.arrangement.panels.map((p, i) => ({
                label: p.label,
                routers: p.routers,
                figures: values.figures[i] as Values["figures"][number],
              }))
            : [],
      }),
    [fabric.name, words, when, scene, values, incident.data, ingest, forecasts, alerts, now],
  );
  const [aside, setAside] = useState<ReadonlySet<string>>(new Set());
  const open = useMemo(() => items.filter((item) => !aside.has(item.id)), [items, aside]);
  // By its id: live data reorder the list under the reader.
  const [chosen, choose] = useState<string | null>(null);
  const at = Math.max(
    0,
    open.findIndex((item) => item.id === chosen),
  );
  const current = open[at];
  const bindings = useMemo(
    () => [
      {
        keys: "j",
        label: "Next item",
        run: () => choose(open[Math.min(at + 1, rows.shown - 1)]?.id ?? current?.id ?? null),
      },
      { keys: "k", label: "Item before", run: () => choose(open[Math.max(0, at - 1)]?.id ?? null) },
      {
        keys: "Enter",
        label: "Open its evidence",
        run: () => current && void navigate({ href: current.href } as never),
      },
      {
        keys: "e",
        label: "Hide until the page is reloaded",
        run: () => {
          if (!current) return;
          choose((open[at + 1] ?? open[at - 1])?.id ?? null);
          setAside((old) => new Set(old).add(current.id));
        },
      },
    ],
    [open, at, current, navigate, rows],
  );
  useKeys("Home", bindings);

  const listed = open.length > 0 && (answered(asked) || refused(asked));
  const calm = !open.length && !empty && values !== null && occupancy !== null && answered([...asked, incident]);
  const judged =
    incident.data?.judged.running === 0
      ? "no job is running"
      : `${plural(incident.data?.judged.not_slow ?? 0, "running job")} of ${incident.data?.judged.running ?? "an unknown number"} can be judged and none of them is slow`;
  const pairs = useMemo(
    () =>
      scene && congestion.data ? hottestPairs(pairsOf(scene.groups, congestion.data.groups)).slice(0, rows.pairs) : [],
    [scene, congestion.data, rows],
  );
  const figures = homeFigures({
    fabric,
    values,
    overview: spanned.data ?? null,
    congestion: congestion.data ?? null,
    occupancy,
    empty,
    past: past !== null,
    loading: {
      jobs: occupancyAnswer.isLoading || running.isLoading,
      routers: routers.isLoading || congestion.isLoading,
      classes: congestion.isLoading,
      incident: incident.isLoading,
      forecasts: past === null && asksForecasts.isLoading,
      lost: lost.isLoading,
    },
    fresh: fresh.text,
    incident: incident.data ?? null,
    forecasts: past === null ? (asksForecasts.data?.items ?? null) : null,
    lost: losses,
    span: SPAN_WORDS[spanName],
    running: running.data?.pages.flatMap((p) => p.items) ?? null,
  });
  return (
    <div className="home-page">
      <div className="context">
        <h1>{past === null ? "Now" : "Then"}</h1>
        {fabric.simulated && <span className="tag">simulated</span>}
        <span className="subtitle">
          {fabric.snapshot
            ? `${fabric.name} · one sample without time`
            : through === null
              ? fabric.name
              : `${fabric.name} · ${momentText(through, now)} ${ZONE} · ${past === null ? "last 10 minutes" : "10 minutes before · alerts, forecasts and ingest: present only"}`}
        </span>
        <span className="spacer" />
        {past !== null && (
          <Link className="button" to="/" search={{ ...kept, machine: fabric.name }}>
            Live
          </Link>
        )}
        {!fabric.snapshot && (
          <Segmented
            label="Time that costs and data cover"
            value={spanName}
            options={SPANS.map((one) => ({ value: one, label: SPAN_LABELS[one] }))}
            onChange={(span) =>
              void navigate({
                to: "/",
                search: (old) => ({ ...old, span: span === "hour" ? undefined : span }),
                replace: true,
              })
            }
          />
        )}
        {edge !== null && !fabric.snapshot && (
          <CopyMoment search={() => ({ ...kept, machine: fabric.name, at: isoTime(edge) })} />
        )}
        <Menu
          trigger={
            <>
              Export
              <Icon name="down" />
            </>
          }
          entries={[
            ...tableEntries({
              name: `${fabric.name}-attention`,
              what: "What needs attention",
              rows: () => [...incidentItems(incident.data ?? null), ...open],
              columns: itemColumns,
              source: address("/incident", { fabric: fabric.name, at: when.to }),
            }),
            ...tableEntries({
              name: `${fabric.name}-jobs`,
              what: "Jobs by stalls",
              rows: () => stalls,
              columns: stallColumns(words.ratio),
              source: address(`/fabrics/${fabric.id}/occupancy`, { at: edge === null ? null : isoTime(edge) }),
            }),
            ...captureEntries(
              () => document.querySelector<HTMLElement>(".home-fabric"),
              `${fabric.name}-home`,
              () => ({
                title: `${fabric.name}${fabric.simulated ? " (simulated)" : ""}`,
                subtitle: `${words.ratio}, ${fabric.snapshot ? "one sample" : past === null ? "last 10 minutes" : `10 minutes to ${momentText(past, now, true)} ${ZONE}`}`,
              }),
            ),
          ]}
        />
      </div>
      {past === null && fresh.state === "stale" && <StaleBanner fresh={fresh} shown="" />}
      {!fabric.snapshot && (
        <IncidentCard
          fabric={fabric.name}
          ratioWord={words.ratio}
          answer={incident}
          trend={overview}
          at={when.to}
          now={now}
        />
      )}
      <Figures figures={figures} />
      {refused([running, lost]) && (
        <div className="home-refused">
          <Unanswered line what="the running jobs and the incidents" asked={[running, lost]} />
        </div>
      )}
      <div className="home-grid">
        <div className="home-left">
          <section
            className="card home-attention"
            data-calm={calm || undefined}
            data-listed={listed || undefined}
            data-pending={(!listed && !calm && !(empty && answered(asked)) && !refused(asked)) || undefined}
            aria-label="Needs attention"
          >
            <div className="card-head">
              <div className="card-title">
                <h2>Needs attention</h2>
                <span className="subtitle">
                  {open.length > 0 ? `${plural(open.length, "item")} · ` : ""}ordered by nodes at stake
                </span>
              </div>
              <span className="subtitle key-hint">
                <kbd>j</kbd> <kbd>k</kbd> move · <kbd>↵</kbd> open · <kbd>e</kbd> set aside
              </span>
            </div>
            {open.length > 0 && refused(asked) && <Unanswered line what="some of it" asked={asked} />}
            {listed ? (
              <ul>
                {open.slice(0, rows.shown).map((item) => (
                  <ItemRow key={item.id} item={item} current={item === current} now={now} />
                ))}
              </ul>
            ) : empty ? (
              <Empty title="No counters yet">
                The topology of {fabric.name} is known. Start a collector (<code>flitwatch collect</code>) or import
                counters; this page fills as they come. <Link to="/connect">Connect your own data</Link> shows the
                commands.
              </Empty>
            ) : calm && !values.figures.some((one) => one.counted > 0) ? (
              <Empty title={`No ${overview?.cards_counted ? `${words.router} ` : ""}counters for this time`}>
                No {words.router} of {fabric.name} has counters in {past === null ? "the last" : "these"} ten minutes.
                {overview?.cards_counted
                  ? ` Its network cards have counters: ${judged}. Where the network is congested is unknown.`
                  : ` Flitwatch cannot tell whether anything ${past === null ? "needs" : "needed"} attention.`}
              </Empty>
            ) : calm ? (
              <Empty title="Nothing needs attention">
                {capital(judged)}; no {scene?.arrangement.noun ?? "group"} is hot
                {past === null && "; all devices are reporting"}.
              </Empty>
            ) : (
              <Unanswered
                what={fabric.snapshot ? "the sample" : past === null ? "the last ten minutes" : "these ten minutes"}
                asked={asked}
              />
            )}
          </section>
          {past === null && !fabric.snapshot && <WorstJobs fabric={fabric.name} shown={rows.worst} now={now} />}
          <section className="card home-jobs" aria-label="Jobs by stalls">
            <div className="card-head">
              <div className="card-title">
                <h2>Jobs on the most congested {words.routers}</h2>
                <span
                  className="subtitle"
                  title="A job here may be a cause or a victim of the congestion. Its page shows which."
                >
                  may be a cause or a victim ·{" "}
                  {fabric.snapshot ? "one sample" : past === null ? "last 10 minutes" : "these 10 minutes"}
                </span>
              </div>
              <Link to="/jobs" search={past === null ? { state: "RUNNING" } : {}}>
                All
              </Link>
            </div>
            {stalls.length ? (
              <StalledJobs
                stalls={stalls.slice(0, calm ? rows.alone : rows.next)}
                ratioWord={capital(words.ratio)}
                story={incident.data?.verdict === "incident" ? incident.data : null}
                at={when.to}
                theme={theme}
              />
            ) : occupancy && !occupancy.jobs.length ? (
              <p className="muted home-note">
                No known job uses {words.routers} of {fabric.name}{" "}
                {fabric.snapshot ? "in this sample" : past === null ? "now" : "then"}.
              </p>
            ) : empty || (occupancy && values) ? (
              <p className="muted home-note">
                What the jobs' {words.routers} stall is unknown:{" "}
                {empty ? "there are no counters yet" : "none of them has counters"}.
              </p>
            ) : (
              <Unanswered what="the jobs and the counters" asked={[occupancyAnswer, congestion]} />
            )}
          </section>
        </div>
        <div className="home-right">
          {scene ? (
            <MiniFabric
              scene={scene}
              values={store}
              congestion={congestion.data ?? null}
              when={when}
              edge={edge}
              ring={rows === WALL_ROWS && fabric.kind === "dragonfly"}
            />
          ) : (
            <section className="card home-fabric" aria-label="Fabric">
              <Unanswered what="the machine" asked={[routers]} />
            </section>
          )}
          {fabric.kind === "dragonfly" && (
            <section className="card home-pairs" aria-label="Hottest pairs">
              <div className="card-head">
                <h2>Hottest links between groups</h2>
              </div>
              {pairs.length ? (
                <HotPairs pairs={pairs} scene={scene} jobs={occupancy?.jobs ?? NO_JOBS} when={when} theme={theme} />
              ) : empty || (scene && congestion.data) ? (
                <p className="muted home-note">
                  {congestion.data?.groups.note ?? "No link between groups has counters."}
                </p>
              ) : (
                <Unanswered what="the links" asked={[congestion]} />
              )}
            </section>
          )}
          {!fabric.snapshot && (
            <Coverage
              device={capital(words.router)}
              span={SPAN_WORDS[spanName]}
              overview={spanned.data ?? null}
              coverage={past === null ? (coverage.data ?? null) : null}
              ingest={ingest}
            >
              {refused([spanned, coverage]) && (
                <Unanswered line what={SPAN_WORDS[spanName]} asked={[spanned, coverage]} />
              )}
            </Coverage>
          )}
        </div>
      </div>
    </div>
  );
}
