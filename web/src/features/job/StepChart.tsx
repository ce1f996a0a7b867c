import { useMemo } from "react";
import { useSize } from "../../charts/Canvas";
import { stepsLayout, type StepSeries } from "../../charts/steps";
import { axisText } from "../../lib/format";

/** The run against the 10–90 % range of other runs; runs laid beside it are dashed. */
export function StepChart({ series, label, slowFrom }: { series: StepSeries; label: string; slowFrom: number | null }) {
  const [box, size] = useSize();
  const layout = useMemo(() => (size && size.width > 80 && size.height > 60 ? stepsLayout(series, size.width, size.height) : null), [series, size]);
  return (
    <div ref={box} className="step-chart">
      {size && layout && (
        <svg width={size.width} height={size.height} role="img" aria-label={label}>
          {layout.yTicks.map((tick) => (
            <g key={tick}>
              <line className="grid" x1={44} x2={size.width - 8} y1={layout.y(tick)} y2={layout.y(tick)} />
              <text x={36} y={layout.y(tick) + 4} textAnchor="end">{axisText(layout.yTicks)(tick)}</text>
            </g>
          ))}
          {layout.xTicks.map((tick) => <text key={tick} x={layout.x(tick)} y={size.height - 6} textAnchor="middle">{tick === series.step[0] ? `step ${tick}` : tick}</text>)}
          {slowFrom !== null && <rect className="slow" x={layout.x(slowFrom)} width={Math.max(1, size.width - 8 - layout.x(slowFrom))} y={8} height={size.height - 32} />}
          <path d={layout.band} className="spread" />
          <path d={layout.mean} className="median" />
          {layout.others.map((other) => <path key={other.label} d={other.path} className="other" />)}
          <path d={layout.run} className="high" />
          <path d={layout.ahead} className="foretold" />
          <path d={layout.expected} className="expected" />
        </svg>
      )}
    </div>
  );
}
