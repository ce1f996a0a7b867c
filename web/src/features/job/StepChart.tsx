import { useMemo } from "react";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { stepsLayout, type StepSeries } from "../../charts/steps";

/** The run against the 10–90 % range of other runs; runs laid beside it are dashed. */
export function StepChart({ series, label, slowFrom }: { series: StepSeries; label: string; slowFrom: number | null }) {
  const [box, size] = useSize();
  const layout = useMemo(() => (size && size.width > 80 && size.height > 60 ? stepsLayout(series, size.width, size.height) : null), [series, size]);
  return (
    <div ref={box} className="step-chart">
      {size && layout && (
        <svg width={size.width} height={size.height} role="img" aria-label={label}>
          <ValueAxis ticks={layout.yTicks} y={layout.y} left={44} right={size.width - 8} />
          <BaseAxis ticks={layout.xTicks} x={layout.x} y={size.height - 6} text={(tick) => (tick === series.step[0] ? `step ${tick}` : tick)} />
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
