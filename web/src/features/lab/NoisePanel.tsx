/** How much a collective slows down beside other traffic: measured by the benchmark beside simulated by the studies. */
import { useQuery } from "@tanstack/react-query";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { useMemo } from "react";
import { measuredQuery, simulatedQuery } from "../../api/noise";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import type { Column } from "../../components/DataTable";
import { HowToRead } from "../../components/HowToRead";
import { Empty, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { fraction } from "../../lib/format";
import { noiseSeries, type NoisePoint, type NoiseSeries } from "./noiseSeries";
import { address } from "../../api/client";

interface Row extends NoisePoint {
  series: NoiseSeries;
}

const columns: Column<Row>[] = [
  { key: "kind", header: "Kind", value: (r) => r.series.kind },
  { key: "series", header: "Series", value: (r) => r.series.name },
  { key: "ratio", header: "perturbing share", numeric: true, value: (r) => r.ratio, render: (r) => fraction(r.ratio) },
  { key: "slowdown", header: "slowdown", numeric: true, value: (r) => r.slowdown, render: (r) => fraction(r.slowdown) },
  { key: "low", header: "low", numeric: true, value: (r) => r.low, render: (r) => fraction(r.low) },
  { key: "high", header: "high", numeric: true, value: (r) => r.high, render: (r) => fraction(r.high) },
];

export function NoisePanel() {
  const measured = useQuery(measuredQuery());
  const simulated = useQuery(simulatedQuery());
  const all = useMemo(
    () => (measured.data && simulated.data ? noiseSeries(measured.data.items, simulated.data.items) : null),
    [measured.data, simulated.data],
  );
  if (!all)
    return (
      <section className="card" aria-label="Noise">
        <Unanswered what="the measurements" asked={[measured, simulated]} />
      </section>
    );
  const sides = (["measured", "simulated"] as const).map((kind) => all.filter((one) => one.kind === kind));
  const least = Math.min(1, ...all.flatMap((one) => one.points.map((p) => p.low ?? p.slowdown ?? 1)));
  const most = Math.max(1.2, ...all.flatMap((one) => one.points.flatMap((p) => [p.slowdown ?? 0, p.high ?? 0])));
  return (
    <div className="noise-panel">
      <div className="noise-sides">
        {sides.map((series, i) => {
          const kind = i === 0 ? "measured" : "simulated";
          const rows = series.flatMap((one) => one.points.map((point): Row => ({ ...point, series: one })));
          return (
            <PictureCard
              key={kind}
              title={i === 0 ? "Measured" : "Simulated"}
              name={`noise-${kind}`}
              source={address(i === 0 ? "/noise/measured" : "/noise/simulated")}
              rows={rows}
              columns={columns}
              id={(r) => `${r.series.name} ${r.ratio}`}
              className="noise-card"
              note="slowdown over the share of perturbing processes"
            >
              {series.length ? (
                <Picture series={series} least={least} most={most} kind={kind} />
              ) : (
                <Empty title={i === 0 ? "Nothing was measured here yet" : "Nothing was simulated yet"}>
                  {i === 0 ? (
                    <>
                      Run the benchmark on this cluster and read it with <code>flitwatch import noise-bench FILE</code>.
                    </>
                  ) : (
                    <>Run one of Hoefler's figures under Studies.</>
                  )}
                </Empty>
              )}
            </PictureCard>
          );
        })}
      </div>
      <HowToRead
        lines={[
          <>
            The share of processes that send beside the collective grows to the right; 1 on the vertical axis is as fast
            as alone. Both sides have one scale.
          </>,
          <>
            Measured: mean over random splits of the processes, bars from the first to the third quartile. Simulated:
            mean over random mappings, bars of 95 %.
          </>,
          <>Lines are numbered where they end; the list under each picture names them.</>,
        ]}
        not={
          <>
            The simulation counts how many flows share a link and knows no protocol: shapes are to be compared, not
            heights.
          </>
        }
      />
    </div>
  );
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

function Picture({ series, least, most, kind }: { series: NoiseSeries[]; least: number; most: number; kind: string }) {
  const [box, size] = useSize();
  const [left, right, top, bottom] = [40, (size?.width ?? 0) - 34, 10, (size?.height ?? 0) - 24];
  const x = scaleLinear().domain([0, 1]).range([left, right]);
  const y = scaleLinear().domain([least, most]).range([bottom, top]).nice(5);
  const path = line<NoisePoint>()
    .defined((p) => p.slowdown !== null)
    .x((p) => x(p.ratio))
    .y((p) => y(p.slowdown ?? 0));
  return (
    <>
      <div ref={box} className="chart-box noise-box">
        {size && size.width > 160 && size.height > 90 && (
          <svg
            width={size.width}
            height={size.height}
            role="img"
            aria-label={`${kind} slowdown of ${series.length} series over the share of perturbing processes; the table lists the same figures`}
          >
            <ValueAxis ticks={y.ticks(5)} y={y} left={left} right={right} gap={6} strong={1} />
            <BaseAxis ticks={[0, 0.25, 0.5, 0.75, 1]} x={x} y={bottom + 16} />
            {series.map((one, i) => {
              const last = one.points.findLast((p) => p.slowdown !== null);
              return (
                <g key={one.name} className={i === 0 ? "noise-first" : "noise-other"}>
                  <path d={path(one.points) ?? ""} fill="none" strokeDasharray={DASHES[i % DASHES.length]} />
                  {one.points.map(
                    (p) =>
                      p.slowdown !== null && (
                        <g key={p.ratio}>
                          {p.low !== null && p.high !== null && (
                            <line x1={x(p.ratio)} x2={x(p.ratio)} y1={y(p.low)} y2={y(p.high)} />
                          )}
                          <circle cx={x(p.ratio)} cy={y(p.slowdown)} r={2.5} />
                        </g>
                      ),
                  )}
                  {last && (
                    <text x={x(last.ratio) + 7} y={y(last.slowdown ?? 0) + 4}>
                      {i + 1}
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
        )}
      </div>
      {/* A box that scrolls must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <ol className="noise-names" tabIndex={0} aria-label="Series">
        {series.map((one) => (
          <li key={one.name}>{one.name}</li>
        ))}
      </ol>
    </>
  );
}
