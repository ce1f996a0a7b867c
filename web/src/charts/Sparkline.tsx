/** A small line over time with its range; gaps stay gaps. */
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { ratio } from "../lib/format";

interface Props {
  ts: number[];
  values: (number | null)[];
  width: number;
  height: number;
  label: string;
}

export function Sparkline({ ts, values, width, height, label }: Props) {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const most = Math.max(1, ...known);
  const x = scaleLinear()
    .domain([ts[0] ?? 0, ts.at(-1) ?? 1])
    .range([28, width - 2]);
  const y = scaleLinear()
    .domain([0, most])
    .range([height - 4, 6]);
  const path =
    line<number | null>()
      .defined((v) => v !== null && Number.isFinite(v))
      .x((_, i) => x(ts[i] ?? 0))
      .y((v) => y(v ?? 0))(values) ?? "";
  return (
    <svg
      width={width}
      height={height}
      role="img"
      aria-label={known.length ? `${label}: up to ${ratio(most)}` : `${label}: no data`}
      className="spark"
    >
      <line x1={28} x2={width - 2} y1={y(0)} y2={y(0)} className="grid" />
      {known.length > 0 ? (
        <>
          <line x1={28} x2={width - 2} y1={y(most)} y2={y(most)} className="grid" />
          <text x={22} y={y(most) + 4} textAnchor="end">
            {ratio(most)}
          </text>
          <text x={22} y={y(0) + 3} textAnchor="end">
            0
          </text>
        </>
      ) : (
        <text x={28} y={height / 2}>
          no data
        </text>
      )}
      <path d={path} className="high" />
    </svg>
  );
}
