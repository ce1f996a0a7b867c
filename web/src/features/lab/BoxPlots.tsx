/** Distributions side by side: a box from the first to the third quartile, a line at the median, whiskers to the ends, dots where figures are kept. */
import { scaleLinear } from "d3-scale";
import { BaseAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import type { Column } from "../../components/DataTable";
import { PictureCard } from "../../components/PictureCard";
import { cut } from "../../lib/format";
import { type Box, type BoxSeries, factName } from "./results";
import { address } from "../../api/client";

const ROW = 26;
const LEFT = 190;
const LETTERS = 29;

const figure = (value: number): string =>
  value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)
    ? value.toExponential(2)
    : String(Number(value.toPrecision(4)));

type Key = "low" | "q1" | "median" | "q3" | "high";
const column = (key: Key, header: string): Column<Box & { at: number }> => ({
  key,
  header,
  numeric: true,
  value: (b) => b[key],
  render: (b) => figure(b[key]),
});
const columns: Column<Box & { at: number }>[] = [
  { key: "label", header: "Variant", value: (b) => b.label },
  column("low", "least"),
  column("q1", "1st quartile"),
  column("median", "median"),
  column("q3", "3rd quartile"),
  column("high", "most"),
];

export function BoxPlots({ series, task }: { series: BoxSeries; task: number }) {
  const rows = series.boxes.map((box, at) => ({ ...box, at }));
  return (
    <PictureCard
      title={factName(series.name)}
      note="box: quartiles, line: median"
      name={`task-${task}-${series.name}`}
      source={address(`/tasks/${task}`)}
      rows={rows}
      columns={columns}
      id={(b) => String(b.at)}
      className="boxes-card"
    >
      <Picture series={series} />
    </PictureCard>
  );
}

function Picture({ series }: { series: BoxSeries }) {
  const [box, size] = useSize();
  const { boxes } = series;
  const width = size?.width ?? 0;
  const height = boxes.length * ROW + 24;
  const x = scaleLinear()
    .domain([0, Math.max(...boxes.map((one) => one.high)) * 1.03 || 1])
    .range([LEFT, width - 14]);
  const best = Math.min(...boxes.map((one) => one.median));
  return (
    <div ref={box} className="boxes">
      {width > LEFT + 80 && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={`${factName(series.name)} of ${boxes.length} variants; the table lists their quartiles`}
        >
          <BaseAxis ticks={x.ticks(6)} x={x} y={height - 6} grid={[0, height - 20]} />
          {boxes.map((one, i) => {
            const y = i * ROW + ROW / 2;
            return (
              <g key={i} className={one.median === best ? "best" : undefined}>
                <title>{`${one.label}: median ${figure(one.median)}, quartiles ${figure(one.q1)} to ${figure(one.q3)}`}</title>
                <text className="box-label" x={LEFT - 10} y={y + 4} textAnchor="end">
                  {cut(one.label, LETTERS)}
                </text>
                <line className="whisker" x1={x(one.low)} x2={x(one.high)} y1={y} y2={y} />
                <rect
                  className="quartiles"
                  x={x(one.q1)}
                  width={Math.max(1.5, x(one.q3) - x(one.q1))}
                  y={y - 7}
                  height={14}
                />
                <line className="box-median" x1={x(one.median)} x2={x(one.median)} y1={y - 7} y2={y + 7} />
                {one.values.map((value, j) => (
                  <circle key={j} className="seed" cx={x(value)} cy={y} r={2} />
                ))}
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
