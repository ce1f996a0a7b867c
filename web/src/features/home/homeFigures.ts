// The row of figures at the top of the home page.
import { capital, wordsOf } from "../../machine/words";
import { quantile } from "d3-array";
import type { Fabric } from "../../api/shapes";
import { count, ratio } from "../../lib/format";
import type { Values } from "../../machine/scene";
import { HOT } from "./attention";
import type { HomeFigure } from "./Figures";

interface FigureInputs {
  fabric: Fabric;
  values: Values | null;
  overview: { p95: (number | null)[]; ratio: (number | null)[]; coverage: (number | null)[] } | null;
  congestion: { classes: Record<string, { ratio: number | null; p95: number | null }> } | null;
  occupancy: { nodes_held: number; jobs: { nodes: number | null }[] } | null;
  /** Running jobs as the sentence on the incident counts them, so that both say the same. */
  judged: number | null;
  running: { nodes: number | null }[] | null;
  fresh: string;
  /** The machine has no counters at all: nothing is on its way. */
  empty: boolean;
  /** Whose first answer is on its way. */
  loading: { jobs: boolean; routers: boolean; classes: boolean };
}

export function homeFigures({
  fabric,
  values,
  overview,
  congestion,
  occupancy,
  judged,
  running,
  fresh,
  empty,
  loading,
}: FigureInputs): HomeFigure[] {
  const jobs = occupancy?.jobs ?? running;
  const nodes = occupancy?.nodes_held ?? jobs?.reduce((sum, job) => sum + (job.nodes ?? 0), 0) ?? null;
  const ratios = values ? [...values.window.ratio].filter((value) => !Number.isNaN(value)) : [];
  const hot = ratios.filter((value) => value > HOT).length;
  const flits = values?.figures.reduce((sum, f) => sum + (f.counted ? f.flits : 0), 0) ?? 0;
  const stalls = values?.figures.reduce((sum, f) => sum + (f.counted ? f.stalls : 0), 0) ?? 0;
  // Of the same window as the mean beside it.
  const twentieth = quantile(ratios, 0.95) ?? null;
  const classes = Object.entries(congestion?.classes ?? {})
    .filter(([name, c]) => name !== "terminal" && c.p95 !== null)
    .sort((a, b) => (b[1].p95 ?? 0) - (a[1].p95 ?? 0));
  const [worst, ...others] = classes;
  const words = wordsOf(fabric);
  return [
    {
      label: fabric.snapshot ? "Jobs in the sample" : "Jobs running",
      value: jobs ? count(fabric.snapshot ? jobs.length : (judged ?? jobs.length)) : "–",
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
      trend: overview?.ratio,
    },
    {
      label: "95th percentile",
      value: ratio(twentieth),
      unit: twentieth === null ? "" : words.unit,
      loading: !values && loading.routers,
      detail: `of the ${words.routers}`,
      trend: overview?.p95,
    },
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
        (!worst && (congestion || empty) ? "no class is counted" : ""),
    },
    {
      label: `${capital(words.routers)} reporting`,
      value: values ? count(ratios.length) : "–",
      loading: !values && loading.routers,
      unit: `of ${count(fabric.routers)}`,
      detail: fresh.replace(/^Live · /, ""),
      trend: overview?.coverage,
    },
  ];
}
