import { useMemo } from "react";
import type { Explanation } from "../../api/estimateShapes";
import { useSize } from "../../charts/Canvas";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { isSilent, type StepClock, type StepSeries, stepsLayout } from "../../charts/steps";
import { cut } from "../../lib/format";
import { clock, parseTime } from "../../lib/time";

// The moment from which a job was slow, as a labelled line: who started or sends more then, where an answer names a job.

export interface Onset {
  /** Milliseconds. */
  at: number;
  label: string;
}

/** Of a name in the line's label, which has a part of the picture's width. */
const LETTERS = 20;

export function onsetOf(explanation: Explanation | undefined): Onset | null {
  const slow = explanation?.slowdown;
  if (!slow || slow.from_start) return null;
  const named = explanation.candidates.find((one) => one.named);
  const at = named ? parseTime(named.changed ?? named.start) : parseTime(slow.since);
  if (at === null) return null;
  const who = named && [cut(named.name ?? "", LETTERS), named.job_id].filter(Boolean).join(" ");
  return {
    at,
    label: named ? `${who} ${named.change === "started" ? "started" : "sends more"}` : "slower from here on",
  };
}

interface OnsetLineProps {
  onset: Onset;
  x: (ms: number) => number;
  top: number;
  bottom: number;
  right: number;
  /** Without its label, where the picture above has it. */
  bare?: boolean;
}

export function OnsetLine({ onset, x, top, bottom, right, bare = false }: OnsetLineProps) {
  const at = x(onset.at);
  if (!(at <= right)) return null;
  return (
    <g className="onset">
      <line x1={at} x2={at} y1={top} y2={bottom} />
      {!bare && (
        <text x={at - 5} y={top + 10} textAnchor={at > 260 ? "end" : "start"} dx={at > 260 ? 0 : 10}>
          {onset.label}
        </text>
      )}
    </g>
  );
}

/** Right of a line, or left of it where the picture ends. */
const besideLine = (x: number, width: number) =>
  x + 56 > width ? ({ x: x - 5, textAnchor: "end" } as const) : { x: x + 5 };

interface Props {
  series: StepSeries;
  label: string;
  /** When its steps were; without it the axis counts steps. */
  time: StepClock | undefined;
  onset: Onset | null;
}

/** The run against the 10–90 % range of other runs; runs compared with it are dashed. */
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
              <text {...besideLine(layout.x(last), size.width)} y={32}>
                {isSilent(series, time) ? "last step" : "now"}
              </text>
            </g>
          )}
          {time && onset && <OnsetLine onset={onset} x={at} top={8} bottom={size.height - 24} right={right} />}
        </svg>
      )}
    </div>
  );
}
