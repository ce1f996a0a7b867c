/** How much a collective slows down alongside other traffic: measured by the benchmark, and simulated by the studies. */
import { useQuery } from "@tanstack/react-query";
import { scaleLinear, scaleLog } from "d3-scale";
import { area, line } from "d3-shape";
import { type CSSProperties, useMemo, useState } from "react";
import { type Fit, measuredQuery, simulatedQuery } from "../../api/noise";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import type { Column } from "../../components/DataTable";
import { Empty, HowToRead, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { Segmented } from "../../components/choices";
import { bytes, count, fraction } from "../../lib/format";
import { NoiseBoxes } from "./NoiseBoxes";
import { noiseBoxes, noiseSeries, type NoiseAxis, type NoisePoint, type NoiseSeries } from "./noiseSeries";
import { address } from "../../api/client";

interface Row extends NoisePoint {
  series: NoiseSeries;
}

const AXES: Record<NoiseAxis, { label: string; words: string; text: (x: number) => string }> = {
  ratio: { label: "Ratio", words: "perturbing share", text: fraction },
  bytes: { label: "Message size", words: "bytes of a perturbing message", text: bytes },
  processes: { label: "Processes", words: "processes", text: count },
};

const columnsOf = (axis: NoiseAxis): Column<Row>[] => [
  { key: "kind", header: "Kind", value: (r) => r.series.kind },
  { key: "series", header: "Series", value: (r) => r.series.name },
  { key: "x", header: AXES[axis].words, numeric: true, value: (r) => r.x, render: (r) => AXES[axis].text(r.x) },
  { key: "slowdown", header: "slowdown", numeric: true, value: (r) => r.slowdown, render: (r) => fraction(r.slowdown) },
  { key: "low", header: "low", numeric: true, value: (r) => r.low, render: (r) => fraction(r.low) },
  { key: "high", header: "high", numeric: true, value: (r) => r.high, render: (r) => fraction(r.high) },
  {
    key: "slope",
    header: "slope (95 %)",
    value: (r) => r.series.fit?.slope ?? null,
    render: (r) => (r.series.fit ? slopeOf(r.series.fit) : "–"),
  },
];

const slopeOf = ({ slope, slope_ci95: [low, high] }: Fit): string =>
  `${fraction(slope)} (${fraction(low)} to ${fraction(high)})`;

export function NoisePanel() {
  const measured = useQuery(measuredQuery());
  const simulated = useQuery(simulatedQuery());
  const [axis, setAxis] = useState<NoiseAxis>("ratio");
  const all = useMemo(
    () =>
      measured.data && simulated.data
        ? noiseSeries(measured.data.items, simulated.data.items, measured.data.fits, axis)
        : null,
    [measured.data, simulated.data, axis],
  );
  const boxes = useMemo(() => noiseBoxes(measured.data?.items ?? [], axis), [measured.data, axis]);
  if (!all)
    return (
      <section className="card" aria-label="Noise">
        <Unanswered what="the measurements" asked={[measured, simulated]} />
      </section>
    );
  const sides = (["measured", "simulated"] as const).map((kind) => all.filter((one) => one.kind === kind));
  const names = Math.max(...sides.map((series) => series.length));
  const least = Math.min(1, ...all.flatMap((one) => one.points.map((p) => p.low ?? p.slowdown ?? 1)));
  const most = Math.max(1.2, ...all.flatMap((one) => one.points.flatMap((p) => [p.slowdown ?? 0, p.high ?? 0])));
  return (
    <div className="noise-panel">
      <Segmented
        label="Over"
        value={axis}
        options={(Object.keys(AXES) as NoiseAxis[]).map((value) => ({ value, label: AXES[value].label }))}
        onChange={setAxis}
      />
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
              columns={columnsOf(axis)}
              id={(r) => `${r.series.name} ${r.x}`}
              className="noise-card"
              note={`slowdown over ${AXES[axis].words}`}
            >
              {series.length ? (
                <Picture series={series} names={names} least={least} most={most} kind={kind} axis={axis} />
              ) : (
                <Empty
                  title={i === 0 ? "No measurements yet" : axis === "bytes" ? "Not simulated" : "No simulations yet"}
                >
                  {i === 0 ? (
                    <>
                      Run the benchmark on this cluster and import it with <code>flitwatch import noise FILE</code>.
                    </>
                  ) : axis === "bytes" ? (
                    <>The simulation counts flows and does not model message sizes.</>
                  ) : (
                    <>Run one of Hoefler's figures under Studies.</>
                  )}
                </Empty>
              )}
            </PictureCard>
          );
        })}
      </div>
      <NoiseBoxes all={boxes} axis={AXES[axis].words} text={AXES[axis].text} />
      <HowToRead
        lines={[
          <>
            What you choose above grows to the right; 1 on the vertical axis is as fast as alone. Both sides have one
            scale.
          </>,
          <>
            Measured: mean over random splits of the processes, bars from the first to the third quartile; over the
            ratio also a line by least squares, with the 95 % interval as a band. Simulated: mean over random mappings,
            bars of 95 %.
          </>,
          <>
            Lines are numbered where they end; the list under each picture names them. Boxes whose notches do not
            overlap have medians that differ with 95 % confidence.
          </>,
        ]}
        not={
          <>
            The simulation counts the flows that share a link and does not model protocols. Compare shapes, not heights.
          </>
        }
      />
    </div>
  );
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

interface PictureProps {
  series: NoiseSeries[];
  /** As many as the longer of both lists has: both pictures are of one height. */
  names: number;
  least: number;
  most: number;
  kind: string;
  axis: NoiseAxis;
}

function Picture({ series, names, least, most, kind, axis }: PictureProps) {
  const [box, size] = useSize();
  const [left, right, top, bottom] = [40, (size?.width ?? 0) - 34, 10, (size?.height ?? 0) - 24];
  const places = [...new Set(series.flatMap((one) => one.points.map((p) => p.x)))].sort((a, b) => a - b);
  const [from, to] = [places[0] ?? 1, places.at(-1) ?? 1];
  const x =
    axis === "ratio"
      ? scaleLinear().domain([0, 1]).range([left, right])
      : scaleLog()
          .domain(from === to ? [from / 2, to * 2] : [from, to])
          .range([left + 10, right - 10]);
  const y = scaleLinear().domain([least, most]).range([bottom, top]).nice(5);
  const path = line<NoisePoint>()
    .defined((p) => p.slowdown !== null)
    .x((p) => x(p.x))
    .y((p) => y(p.slowdown ?? 0));
  const band = area<Fit["band"][number]>()
    .x((at) => x(at.ratio))
    .y0((at) => y(at.low))
    .y1((at) => y(at.high));
  const fitted = line<Fit["band"][number]>()
    .x((at) => x(at.ratio))
    .y((at) => y(at.fitted));
  return (
    <>
      <div ref={box} className="chart-box noise-box">
        {size && size.width > 160 && size.height > 90 && (
          <svg
            width={size.width}
            height={size.height}
            role="img"
            aria-label={`${kind} slowdown of ${series.length} series over ${AXES[axis].words}; the table lists the same figures`}
          >
            <ValueAxis ticks={y.ticks(5)} y={y} left={left} right={right} gap={6} strong={1} />
            <BaseAxis
              ticks={axis === "ratio" ? [0, 0.25, 0.5, 0.75, 1] : places}
              x={x}
              y={bottom + 16}
              text={axis === "ratio" ? String : AXES[axis].text}
            />
            {series.map((one, i) => {
              const last = one.points.findLast((p) => p.slowdown !== null);
              return (
                <g key={one.name} className={i === 0 ? "noise-first" : "noise-other"}>
                  {one.fit && (
                    <>
                      <path className="noise-band" d={band(one.fit.band) ?? ""} />
                      <path className="noise-fit" d={fitted(one.fit.band) ?? ""} fill="none" />
                    </>
                  )}
                  <path d={path(one.points) ?? ""} fill="none" strokeDasharray={DASHES[i % DASHES.length]} />
                  {one.points.map(
                    (p) =>
                      p.slowdown !== null && (
                        <g key={p.x}>
                          {p.low !== null && p.high !== null && (
                            <line x1={x(p.x)} x2={x(p.x)} y1={y(p.low)} y2={y(p.high)} />
                          )}
                          <circle cx={x(p.x)} cy={y(p.slowdown)} r={2.5} />
                        </g>
                      ),
                  )}
                  {last && (
                    <text x={x(last.x) + 7} y={y(last.slowdown ?? 0) + 4}>
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
      <ol className="noise-names" style={{ "--rows": names } as CSSProperties} tabIndex={0} aria-label="Series">
        {series.map((one) => (
          <li key={one.name}>
            {one.name}
            {one.fit && `: slope ${slopeOf(one.fit)}, ${count(one.fit.splits)} splits`}
          </li>
        ))}
      </ol>
    </>
  );
}
