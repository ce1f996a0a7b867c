/** One sample without time: the distribution of links of each class stands where the time axis would. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { linkFiguresQuery, type Moment } from "../../api/queries";
import { useSize } from "../../charts/Canvas";
import { distribution, Histogram } from "../../charts/Histogram";
import { Failure } from "../../components/Notice";
import { useStore } from "../../lib/store";
import { themeStore } from "../../lib/theme";

const TITLES: Record<string, string> = {
  green: "Green links, along the row", black: "Black links, along the column", blue: "Blue links, between groups",
  up: "Up links", down: "Down links", dim0: "Links along x", dim1: "Links along y", dim2: "Links along z",
};

export function DistributionPanel({ fabric, moment }: { fabric: number; moment: Moment }) {
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
    return [...values].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0])).slice(0, 3).map(([name, list]) => ({ name, values: distribution(list) }));
  }, [links.data]);
  const width = size ? (size.width - 32 * Math.max(0, classes.length - 1)) / Math.max(1, classes.length) : 0;
  if (links.data && !classes.length) return null;
  return (
    <section className="card distribution-panel" aria-label="Distribution of links">
      <div ref={box} className="distributions">
        {links.error && !links.data && <Failure error={links.error} retry={() => void links.refetch()} />}
        {width > 0 && classes.map(({ name, values }) => (
          <Histogram key={name} title={TITLES[name] ?? `${name} links`} values={values} width={Math.floor(width)} theme={theme} />
        ))}
      </div>
    </section>
  );
}
