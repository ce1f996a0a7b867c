/** Stalls on the job's own routers over its life, against the median of the machine. */
import { useQuery } from "@tanstack/react-query";
import { line } from "d3-shape";
import { scaleLinear } from "d3-scale";
import { useMemo } from "react";
import { overviewQuery, timeseriesQuery } from "../../api/queries";
import type { Timeseries } from "../../api/shapes";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import type { Column } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { plural, ratio } from "../../lib/format";
import { clock, day, parseTime, timeTicks, ZONE } from "../../lib/time";

interface Props {
  fabric: number;
  routers: number[];
  from: number;
  to: number;
  slowAt: number | null;
}

const POINTS = 180;
/** A longer list of routers would not fit an address; the label says how many were asked for. */
const MOST = 2000;

/** Summed stalls over summed flits at each time; null where none of the routers is known. */
export function summedRatio(series: Timeseries): (number | null)[] {
  const [flits, stalls] = [series.values.rt_flits ?? [], series.values.rt_stall_cycles ?? []];
  return series.ts.map((_, t) => {
    let f = 0, s = 0, known = false;
    flits.forEach((row, r) => {
      const value = row[t] ?? null;
      if (value === null) return;
      known = true;
      f += value;
      s += stalls[r]?.[t] ?? 0;
    });
    return known && f > 0 ? s / f : known ? 0 : null;
  });
}

interface Row {
  at: string;
  own: number | null;
  machine: number | null;
}

const columns: Column<Row>[] = [
  { key: "at", header: `Time, ${ZONE}`, value: (r) => r.at, render: (r) => { const ms = parseTime(r.at); return ms === null ? r.at : `${day(ms)} ${clock(ms, true)}`; } },
  { key: "own", header: "the job's routers", numeric: true, value: (r) => r.own, render: (r) => ratio(r.own) },
  { key: "machine", header: "machine", numeric: true, value: (r) => r.machine, render: (r) => ratio(r.machine) },
];

export function StallHistory({ fabric, routers, from, to, slowAt }: Props) {
  const [box, size] = useSize();
  const span = useMemo(() => ({ from: Math.floor(from / 60_000) * 60_000, to: Math.ceil(to / 60_000) * 60_000 }), [from, to]);
  const asked = routers.slice(0, MOST);
  const own = useQuery(timeseriesQuery(fabric, { routers: asked.join(","), counters: "rt_flits,rt_stall_cycles", span, points: POINTS, sum: true }));
  const machine = useQuery(overviewQuery(fabric, span, POINTS));
  const layout = useMemo(() => {
    if (!size || !own.data || size.width < 120 || size.height < 60) return null;
    const values = summedRatio(own.data);
    const whole = machine.data?.ratio ?? [];
    const most = Math.max(1, ...values.map((v) => v ?? 0), ...whole.map((v) => v ?? 0));
    const x = scaleLinear().domain([span.from, span.to]).range([44, size.width - 8]);
    const y = scaleLinear().domain([0, most * 1.05]).nice(3).range([size.height - 24, 8]);
    const draw = (ts: string[], stepS: number, column: (number | null)[]) =>
      line<number | null>().defined((v) => v !== null).x((_, i) => x((parseTime(ts[i]) ?? 0) + stepS * 500)).y((v) => y(v ?? 0))(column) ?? "";
    return { x, y, own: draw(own.data.ts, own.data.step_s, values), machine: machine.data ? draw(machine.data.ts, machine.data.step_s, whole) : "" };
  }, [size, own.data, machine.data, span]);
  const rows = useMemo(() => {
    const whole = new Map(machine.data?.ts.map((at, i) => [at, machine.data?.ratio[i] ?? null]));
    return own.data ? summedRatio(own.data).map((value, i) => ({ at: own.data?.ts[i] ?? "", own: value, machine: whole.get(own.data?.ts[i] ?? "") ?? null })) : [];
  }, [own.data, machine.data]);
  const long = span.to - span.from > 86_400_000;
  return (
    <PictureCard
      title="Stalls per flit" name="job-stalls" className="job-stalls" rows={rows} columns={columns} id={(r) => r.at}
      note={`on ${asked.length < routers.length ? `${asked.length} of ` : ""}the job's ${plural(routers.length, "router")} · grey: whole machine`}
    >
      <Unanswered line what="the machine's stalls" asked={[machine]} />
      {!own.data ? <Unanswered what="the stalls" asked={[own]} /> : (
        <div ref={box} className="step-chart">
          {size && layout && (
            <svg width={size.width} height={size.height} role="img" aria-label="Stall ratio of the job's routers and of the whole machine over the job's life">
              <ValueAxis ticks={layout.y.ticks(3)} y={layout.y} left={44} right={size.width - 8} />
              <BaseAxis
                ticks={timeTicks(span, Math.max(2, Math.floor(size.width / 130))).filter((tick) => layout.x(tick) < size.width - 60)}
                x={layout.x} y={size.height - 6} text={(tick) => (long ? `${day(tick)} ${clock(tick)}` : clock(tick))}
              />
              {slowAt !== null && slowAt > span.from && <rect className="slow" x={layout.x(slowAt)} width={Math.max(1, size.width - 8 - layout.x(slowAt))} y={8} height={size.height - 32} />}
              <path d={layout.machine} className="median" />
              <path d={layout.own} className="high" />
              <text x={size.width - 8} y={size.height - 6} textAnchor="end">{ZONE}</text>
            </svg>
          )}
        </div>
      )}
    </PictureCard>
  );
}
