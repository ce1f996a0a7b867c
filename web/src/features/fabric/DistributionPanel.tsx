/** One sample without time: the distribution of links of each class stands where the time axis would. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { linkFiguresQuery, type Moment, momentParameters } from "../../api/queries";
import { useSize } from "../../charts/Canvas";
import { distribution, Histogram } from "../../charts/Histogram";
import { HEAT_LABELS } from "../../charts/scale";
import type { Column } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { count } from "../../lib/format";
import { useMedia } from "../../lib/media";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";
import { address } from "../../api/client";

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
