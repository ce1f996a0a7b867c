/** Distribution of links over the steps of the stall scale: what stands where time would, when there is one sample without time. */
import { ascending, quantileSorted } from "d3-array";
import { count, ratio } from "../lib/format";
import { HEAT, HEAT_LABELS, heatStep, type Theme } from "./scale";

export interface Distribution {
  counts: number[];
  total: number;
  median: number;
  p95: number;
  max: number;
}

export function distribution(values: number[]): Distribution {
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

export function Histogram({
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
