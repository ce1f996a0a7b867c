/** One sample without time: the distribution of links of each class stands where the time axis would. */
import { useQuery } from "@tanstack/react-query";
import { ascending, quantileSorted } from "d3-array";
import { useMemo } from "react";
import { address } from "../../api/client";
import { linkFiguresQuery, type Moment, momentParameters } from "../../api/queries";
import { useSize } from "../../charts/Canvas";
import { HEAT, HEAT_LABELS, heatStep, type Theme } from "../../charts/scale";
import type { Column } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { count, ratio } from "../../lib/format";
import { useMedia } from "../../lib/screen";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";

// Distribution of links over the steps of the stall scale: what stands where time would, when there is one sample without time.

export interface Distribution {
  counts: number[];
  total: number;
  median: number;
  p95: number;
  max: number;
}

function distribution(values: number[]): Distribution {
  const sorted = values.filter((value) => Number.isFinite(value)).sort(ascending);
  const counts = new Array<number>(8).fill(0);
  for (const value of sorted) counts[heatStep(value)] = (counts[heatStep(value)] ?? 0) + 1;
  return {
    counts,
    total: sorted.length,
    median: quantileSorted(sorted, 0.5) ?? NaN,
    p95: quantileSorted(sorted, 0.95) ?? NaN,
    max: sorted.at(-1) ?? NaN,
  };
}

const BASE = 72;

function Histogram({
  title,
  values,
  words,
  width,
  theme,
}: {
  title: string;
  values: Distribution;
  words: string;
  width: number;
  theme: Theme;
}) {
  const { counts, total, median, p95, max } = values;
  const step = width / 8;
  const most = Math.max(1, ...counts);
  const summary = total
    ? `${count(total)} · median ${ratio(median)} · 95th ${ratio(p95)} · max ${ratio(max)}`
    : "none counted";
  return (
    <figure className="histogram">
      <figcaption>
        <strong>{title}</strong>
        <span>{summary}</span>
      </figcaption>
      <svg width={width} height={92} role="img" aria-label={`${title}: ${summary} ${words}`}>
        {counts.map((n, i) => {
          const height = n ? Math.max(1, (n / most) * (BASE - 18)) : 0;
          const share = n / Math.max(1, total);
          return (
            <g key={HEAT.light[i]}>
              <rect x={i * step} y={BASE - height} width={step - 2} height={height} fill={HEAT[theme][i]} />
              {n > 0 && (
                <text x={(i + 0.5) * step - 1} y={BASE - height - 4} textAnchor="middle">
                  {(share * 100).toFixed(share < 0.095 ? 1 : 0)} %
                </text>
              )}
            </g>
          );
        })}
        <line x1={0} x2={width} y1={BASE + 0.5} y2={BASE + 0.5} className="axis" />
        {HEAT_LABELS.map((label, i) => (
          <text key={label} x={(i + 1) * step - 1} y={88} textAnchor="middle">
            {label}
          </text>
        ))}
      </svg>
    </figure>
  );
}

const TITLES: Record<string, string> = {
  green: "Green links, along the row",
  black: "Black links, along the column",
  blue: "Blue links, between groups",
  up: "Up links",
  down: "Down links",
  dim0: "Links along x",
  dim1: "Links along y",
  dim2: "Links along z",
};

interface Row {
  step: string;
  counts: number[];
}

/** The steps of the scale in words. */
const STEPS = [
  `below ${HEAT_LABELS[0] ?? ""}`,
  ...HEAT_LABELS.slice(1).map((to, i) => `${HEAT_LABELS[i] ?? ""} to ${to}`),
  `above ${HEAT_LABELS.at(-1) ?? ""}`,
];

export function DistributionPanel({ fabric, words, moment }: { fabric: number; words: string; moment: Moment }) {
  const links = useQuery(linkFiguresQuery(fabric, moment, {}));
  const theme = useStore(themeStore);
  const [box, size] = useSize();
  const classes = useMemo(() => {
    const values = new Map<string, number[]>();
    links.data?.class.forEach((linkClass, i) => {
      const [flits, stalls] = [links.data.flits[i], links.data.stall_cycles[i]];
      if (linkClass === "terminal" || linkClass === "host" || flits == null || !(flits > 0)) return;
      const list = values.get(linkClass) ?? [];
      list.push((stalls ?? 0) / flits);
      values.set(linkClass, list);
    });
    const order = Object.keys(TITLES);
    return [...values]
      .sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]))
      .slice(0, 3)
      .map(([name, list]) => ({ name, values: distribution(list) }));
  }, [links.data]);
  // Below each other where the page is narrow.
  const columnsOf = useMedia("(max-width: 720px)") ? 1 : Math.max(1, classes.length);
  const width = size ? (size.width - 32 * (columnsOf - 1)) / columnsOf : 0;
  if (links.data && !classes.length) return null;
  const columns: Column<Row>[] = [
    { key: "step", header: words, value: (r) => r.step },
    ...classes.map(({ name }, i): Column<Row> => ({
      key: name,
      header: TITLES[name] ?? `${name} links`,
      numeric: true,
      value: (r) => r.counts[i] ?? 0,
      render: (r) => count(r.counts[i] ?? 0),
    })),
  ];
  const rows = STEPS.map((step, i): Row => ({ step, counts: classes.map(({ values }) => values.counts[i] ?? 0) }));
  return (
    <PictureCard
      title="Distribution of links"
      name={`distribution-${fabric}`}
      source={address(`/fabrics/${fabric}/stalls/links`, momentParameters(moment))}
      className="distribution-panel"
      rows={rows}
      columns={columns}
      id={(r) => r.step}
      note={`share of links by ${words} · one sample without time`}
    >
      <div ref={box} className="distributions">
        <Unanswered what="the links" asked={[links]} />
        {width > 0 &&
          classes.map(({ name, values }) => (
            <Histogram
              key={name}
              title={TITLES[name] ?? `${name} links`}
              values={values}
              words={words}
              width={Math.floor(width)}
              theme={theme}
            />
          ))}
      </div>
    </PictureCard>
  );
}
