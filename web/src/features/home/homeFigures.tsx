import { mean, quantile } from "d3-array";
import { line } from "d3-shape";
import type { RunningRun } from "../../api/estimateShapes";
import type { Incident } from "../../api/incident";
import type { Fabric } from "../../api/shapes";
import { change, count, percent, plural, ratio, UNKNOWN } from "../../lib/format";
import type { Values } from "../../machine/scene";
import { capital, wordsOf } from "../../machine/words";
import { HOT } from "./attention";

interface HomeFigure {
  label: string;
  value: string;
  unit: string;
  detail: string;
  trend?: (number | null)[] | undefined;
  bad?: boolean;
  /** It has yet to come: neither known nor unknown. */
  loading?: boolean;
}

const WIDTH = 64;
const HEIGHT = 20;

/** The last hour as a line: shape only, the number stands above it. */
function Trend({ values }: { values: (number | null)[] }) {
  const known = values.filter((v): v is number => v !== null);
  if (known.length < 2) return null;
  const [low, high] = [Math.min(0, ...known), Math.max(...known, 1e-9)];
  const path =
    line<number | null>()
      .defined((v) => v !== null)
      .x((_, i) => (i / (values.length - 1)) * (WIDTH - 4) + 2)
      .y((v) => HEIGHT - 3 - (((v ?? 0) - low) / (high - low)) * (HEIGHT - 6))(values) ?? "";
  return (
    <svg width={WIDTH} height={HEIGHT} aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.25" />
    </svg>
  );
}

export function Figures({ figures }: { figures: HomeFigure[] }) {
  return (
    <dl className="card home-figures">
      {figures.map((figure) => (
        <div key={figure.label}>
          <dt>{figure.label}</dt>
          <dd>
            {figure.loading ? (
              <span className="home-value skeleton">
                <i aria-hidden="true" />
                <span className="visually-hidden">loading</span>
              </span>
            ) : (
              <>
                <span className={`home-value${figure.bad ? " alarm" : figure.value === UNKNOWN ? " unknown" : ""}`}>
                  {figure.value}
                </span>{" "}
                <span className="home-unit">{figure.unit}</span>
              </>
            )}
            <span className="home-detail">
              <span className="ellipsis" title={figure.detail}>
                {figure.detail}
              </span>
              {figure.trend && <Trend values={figure.trend} />}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

// The row of figures at the top of the home page.

interface FigureInputs {
  fabric: Fabric;
  values: Values | null;
  overview: { coverage: (number | null)[]; cards_counted: boolean } | null;
  congestion: { classes: Record<string, { ratio: number | null; p95: number | null }> } | null;
  occupancy: { nodes_held: number; jobs: { nodes: number | null }[] } | null;
  /** Who is slow now; its count of running jobs is also that of the sentence on the incident. */
  incident: Incident | null;
  forecasts: RunningRun[] | null;
  /** Incidents of the span, and its hours; `more`: there are further ones. */
  lost: { incidents: { node_hours: number | null }[]; more: boolean; hours: number; unexamined: number } | null;
  /** That span in words. */
  span: string;
  running: { nodes: number | null }[] | null;
  fresh: string;
  /** The moment is not now. */
  past: boolean;
  /** The machine has no counters at all: nothing is on its way. */
  empty: boolean;
  /** Whose first answer is on its way. */
  loading: Record<"jobs" | "routers" | "classes" | "incident" | "forecasts" | "lost", boolean>;
}

/** Jobs that are slow now, of those that run; how many cannot be compared with earlier runs. */
function slowedFigure(incident: Incident | null, running: number | null, past: boolean, loading: boolean): HomeFigure {
  const slow = [...(incident?.victims ?? []), ...(incident?.others ?? [])].filter((one) => one.until === null).length;
  const all = incident?.judged.running ?? running;
  const judged = slow + (incident?.judged.not_slow ?? 0);
  return {
    label: `Jobs slowed ${past ? "then" : "now"}`,
    value: incident && judged > 0 ? count(slow) : UNKNOWN,
    unit: all === null ? "" : `of ${count(all)} running`,
    detail: incident ? (judged > 0 ? `${count(judged)} can be judged` : "none can be judged") : "",
    bad: slow > 0,
    loading: !incident && loading,
  };
}

/** What the running jobs' next steps are forecast to take, against the usual. */
function aheadFigure(forecasts: RunningRun[] | null, past: boolean, loading: boolean): HomeFigure {
  const next = (forecasts ?? []).flatMap((one) => (one.newest && one.newest.usual_s > 0 ? [one.newest] : []));
  const average = (of: (one: (typeof next)[number]) => number) => mean(next, of) ?? NaN;
  const ahead = average((one) => one.slowdown);
  return {
    label: "Slowdown ahead",
    value: next.length ? change(ahead) : UNKNOWN,
    unit: next.length ? `mean of ${plural(next.length, "job")}` : "",
    detail: next.length
      ? `90 %: ${change(average((one) => one.low_s / one.usual_s))} to ${change(average((one) => one.high_s / one.usual_s))}`
      : forecasts
        ? "no job has a forecast"
        : past
          ? "shown only for the present"
          : "",
    bad: ahead >= 1.1,
    loading: !forecasts && loading,
  };
}

/** Node-hours that the incidents of the span cost. */
function lostFigure(
  { lost, span, fabric, overview }: Pick<FigureInputs, "lost" | "span" | "fabric" | "overview">,
  loading: boolean,
): HomeFigure {
  const hours = lost?.incidents.reduce((sum, one) => sum + (one.node_hours ?? 0), 0) ?? 0;
  const least = lost && (lost.more || lost.unexamined > 0 || lost.incidents.some((one) => one.node_hours === null));
  const share = lost && lost.hours > 0 && fabric.endpoints > 0 ? hours / (fabric.endpoints * lost.hours) : null;
  const number = lost?.incidents.length ?? 0;
  const blind = overview && !overview.cards_counted && overview.coverage.every((one) => one === null);
  const known = lost !== null && (number > 0 || !(lost.unexamined || blind));
  return {
    label: `Lost to noise, ${span}`,
    value: known ? `${least ? "> " : ""}${ratio(hours)}` : UNKNOWN,
    unit: known ? "node-hours" : "",
    detail: lost?.unexamined
      ? `${plural(number, "incident")} · ${plural(lost.unexamined, "ended job")} not examined yet`
      : lost && !known
        ? "no counters for this time"
        : lost
          ? `${plural(number, "incident")}${share !== null && share >= 0.0005 ? ` · ${percent(share, 1)} of the machine` : ""}`
          : "",
    bad: false,
    loading: !lost && loading,
  };
}

export function homeFigures({
  fabric,
  values,
  overview,
  congestion,
  occupancy,
  incident,
  forecasts,
  lost,
  span,
  running,
  fresh,
  empty,
  past,
  loading,
}: FigureInputs): HomeFigure[] {
  const jobs = occupancy?.jobs ?? running;
  const nodes = occupancy?.nodes_held ?? jobs?.reduce((sum, job) => sum + (job.nodes ?? 0), 0) ?? null;
  const ratios = values ? [...values.window.ratio].filter((value) => !Number.isNaN(value)) : [];
  const hot = ratios.filter((value) => value > HOT).length;
  const flits = values?.figures.reduce((sum, f) => sum + (f.counted ? f.flits : 0), 0) ?? 0;
  const stalls = values?.figures.reduce((sum, f) => sum + (f.counted ? f.stalls : 0), 0) ?? 0;
  // Of the same window as the mean next to it.
  const twentieth = quantile(ratios, 0.95) ?? null;
  const classes = Object.entries(congestion?.classes ?? {})
    .filter(([name, c]) => name !== "terminal" && c.p95 !== null)
    .sort((a, b) => (b[1].p95 ?? 0) - (a[1].p95 ?? 0));
  const [worst, ...others] = classes;
  const words = wordsOf(fabric);
  const sample: HomeFigure[] = [
    {
      label: "Jobs in the sample",
      value: jobs ? count(jobs.length) : "–",
      unit: "",
      loading: !jobs && loading.jobs,
      detail: nodes === null ? "" : `on ${count(nodes)} of ${count(fabric.endpoints)} nodes`,
    },
    {
      label: `Mean ${words.ratio}`,
      value: flits > 0 ? ratio(stalls / flits) : "–",
      unit: "",
      loading: !values && loading.routers,
      detail: `all ${words.routers}`,
    },
    {
      label: "95th percentile",
      value: ratio(twentieth),
      unit: twentieth === null ? "" : words.unit,
      loading: !values && loading.routers,
      detail: `of the ${words.routers}`,
    },
  ];
  const first = fabric.snapshot
    ? sample
    : [
        slowedFigure(incident, jobs?.length ?? null, past, loading.incident),
        aheadFigure(forecasts, past, loading.forecasts),
        lostFigure({ lost, span, fabric, overview }, loading.lost),
      ];
  return [
    ...first,
    {
      label: `Hot ${words.routers}`,
      value: ratios.length ? count(hot) : "–",
      unit: ratios.length ? `of ${count(ratios.length)}` : "",
      loading: !values && loading.routers,
      detail: `above ${HOT} ${words.amount}`,
      bad: hot > 0,
    },
    {
      label: "Hottest class",
      value: worst ? capital(worst[0]) : "–",
      loading: !congestion && loading.classes,
      unit: worst ? `95th: ${ratio(worst[1].p95)}` : "",
      detail:
        others.map(([name, c]) => `${name} ${ratio(c.p95)}`).join(" · ") ||
        (!worst && (congestion || empty) ? "no class has counters" : ""),
    },
    {
      label: `${capital(words.routers)} reporting`,
      value: values ? count(ratios.length) : "–",
      loading: !values && loading.routers,
      unit: `of ${count(fabric.routers)}`,
      detail: past ? "" : fresh.replace(/^Live · /, ""),
      trend: overview?.coverage,
    },
  ];
}
