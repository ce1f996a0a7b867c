/** What the application counted in each step, one line a counter on the steps' axis. */
import { useQuery } from "@tanstack/react-query";
import { line } from "d3-shape";
import { runStepsQuery } from "../../api/queries";
import { useSize } from "../../charts/Canvas";
import { plural, si } from "../../lib/format";

const HEIGHT = 30;
const MOST = 6;
/** Name and mean beside the line, with the gaps between. */
const GUTTERS = 464;

type Column = (number | null)[];

function spread(column: Column): number {
  const known = column.filter((v): v is number => v !== null);
  const mean = known.reduce((a, b) => a + b, 0) / Math.max(1, known.length);
  return mean > 0 ? Math.sqrt(known.reduce((sum, v) => sum + (v - mean) ** 2, 0) / known.length) / mean : 0;
}

/** Counters that move most come first: a constant explains nothing. */
export function liveliest(counters: Record<string, Column>): [string, Column][] {
  return Object.entries(counters).filter(([, column]) => column.some((v) => v !== null && v > 0)).sort((a, b) => spread(b[1]) - spread(a[1]));
}

export function RunCounters({ run }: { run: number }) {
  const steps = useQuery(runStepsQuery(run));
  const all = steps.data?.counters ? liveliest(steps.data.counters) : [];
  return all.length ? <Rows all={all} /> : null;
}

function Rows({ all }: { all: [string, Column][] }) {
  const [box, size] = useSize();
  const width = Math.max(40, (size?.width ?? 0) - GUTTERS);
  return (
    <section className="card job-counters" aria-label="Counters" ref={box}>
      <div className="card-head"><h2>Counters of each step</h2><span className="subtitle">summed over ranks · {all.length > MOST ? `the ${MOST} of ${plural(all.length, "counter")} that vary most` : plural(all.length, "counter")} · mean at the right</span></div>
      {all.slice(0, MOST).map(([name, column]) => {
        const known = column.filter((v): v is number => v !== null);
        const most = Math.max(...known);
        const path = line<number | null>().defined((v) => v !== null).x((_, i) => (i / Math.max(1, column.length - 1)) * (width - 2) + 1).y((v) => HEIGHT - 3 - ((v ?? 0) / (most || 1)) * (HEIGHT - 6))(column) ?? "";
        return (
          <div className="counter-row" key={name}>
            <span className="ellipsis" title={name}>{name}</span>
            <svg width={width} height={HEIGHT} role="img" aria-label={`${name} in each step, up to ${si(most)}`}><path d={path} /></svg>
            <span>{si(known.reduce((a, b) => a + b, 0) / Math.max(1, known.length))}</span>
          </div>
        );
      })}
    </section>
  );
}
