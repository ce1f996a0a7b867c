import { useMemo } from "react";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { stepsLayout, type StepClock, type StepSeries } from "../../charts/steps";
import { clock } from "../../lib/time";
import { OnsetLine, type Onset } from "./OnsetLine";

interface Props {
  series: StepSeries;
  label: string;
  /** When its steps were; without it the axis counts steps. */
  time: StepClock | undefined;
  onset: Onset | null;
}

/** The run against the 10–90 % range of other runs; runs laid beside it are dashed. */
export function StepChart({ series, label, time, onset }: Props) {
  const [box, size] = useSize();
  const layout = useMemo(
    () => (size && size.width > 80 && size.height > 60 ? stepsLayout(series, size.width, size.height, time) : null),
    [series, size, time],
  );
  const right = (size?.width ?? 0) - (time?.right ?? 8);
  const at = (ms: number) =>
    time ? time.left + ((ms - time.span.from) / (time.span.to - time.span.from)) * (right - time.left) : 0;
  const last = series.step.at(-1);
  return (
    <div ref={box} className="step-chart">
      {size && layout && (
        <svg width={size.width} height={size.height} role="img" aria-label={label}>
          <ValueAxis ticks={layout.yTicks} y={layout.y} left={time?.left ?? 44} right={right} />
          <BaseAxis
            ticks={layout.xTicks}
            x={layout.x}
            y={size.height - 6}
            text={(tick) =>
              `${tick === series.step[0] ? "step " : ""}${tick}${time ? ` · ${clock(time.end(tick), true)}` : ""}`
            }
          />
          <path d={layout.band} className="spread" />
          <path d={layout.mean} className="median" />
          {layout.others.map((other) => (
            <path key={other.label} d={other.path} className="other" />
          ))}
          <path d={layout.run} className="high" />
          <path d={layout.ahead} className="forecast" />
          <path d={layout.expected} className="expected" />
          {series.ahead && last !== undefined && (
            <g className="now">
              <line x1={layout.x(last)} x2={layout.x(last)} y1={8} y2={size.height - 24} />
              <text x={layout.x(last) + 5} y={32}>
                now
              </text>
            </g>
          )}
          {time && onset && <OnsetLine onset={onset} x={at} top={8} bottom={size.height - 24} right={right} />}
        </svg>
      )}
    </div>
  );
}
