/** The time axis of a fabric page. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { overviewQuery } from "../../api/queries";
import { TimeBrush } from "../../charts/TimeBrush";
import { useFrame } from "../../charts/Canvas";
import { Failure } from "../../components/Notice";
import { parseTime, type TimeWindow } from "../../lib/time";
import { overviewPoints, type Clockwork } from "./clockwork";

interface Props {
  fabric: number;
  clock: Clockwork;
  difference: boolean;
  through: number | null;
  stale: boolean;
  onDrag: (window: TimeWindow, comparing: boolean) => void;
  onCommit: (window: TimeWindow, comparing: boolean) => void;
  onPrepare: () => void;
}

export function TimePanel({ fabric, clock, difference, through, stale, onDrag, onCommit, onPrepare }: Props) {
  const overview = useQuery(overviewQuery(fabric, clock.span, overviewPoints(clock.span.to - clock.span.from)));
  const data = overview.data;
  const shaped = useMemo(() => ({
    series: {
      ts: data?.ts.map((t) => parseTime(t) ?? NaN) ?? [], stepMs: (data?.step_s ?? 10) * 1000, p50: data?.p50 ?? [], p95: data?.p95 ?? [],
    },
    marks: data?.marks.map((mark) => ({ ts: parseTime(mark.ts) ?? NaN, text: mark.text })) ?? [],
    gaps: data?.gaps.map((gap) => ({ from: parseTime(gap.from) ?? 0, to: parseTime(gap.to) ?? clock.span.to, devices: gap.devices })) ?? [],
  }), [data, clock.span.to]);
  const drag = useFrame(onDrag);
  if (overview.error && !data) return <div className="card time-panel"><Failure error={overview.error} retry={() => void overview.refetch()} /></div>;
  return (
    <section className="card time-panel" aria-label="Time" onPointerEnter={onPrepare}>
      <TimeBrush
        span={clock.span} series={shaped.series} marks={shaped.marks} gaps={shaped.gaps} window={clock.window}
        comparison={difference ? clock.comparison : null} through={through} stale={stale} stepMs={clock.stepMs} onDrag={drag} onCommit={onCommit}
      />
    </section>
  );
}
