/** One time axis for everything: the machine's stall ratio, change marks, gaps, the window and the one it is compared with. */
import { useMemo, useRef, useSyncExternalStore } from "react";
import { intervalText, ZONE, type TimeWindow } from "../lib/time";
import type { Store } from "../lib/store";
import { BOTTOM, HEIGHT, LEFT, RIGHT, TOP } from "./brush";
import { BrushBackdrop, type BackdropProps } from "./BrushBackdrop";
import { BrushBand } from "./BrushBand";
import { BrushPlaying } from "./BrushPlaying";
import { useSize } from "./Canvas";
import { timelineLayout, type TimelineMark } from "./timeline";
import { useBrushDrag } from "./useBrushDrag";
import { useWheelZoom } from "./useWheelZoom";

interface Props extends BackdropProps {
  marks: TimelineMark[];
  window: TimeWindow;
  comparison: TimeWindow | null;
  stepMs: number;
  onDrag: (window: TimeWindow, comparing: boolean) => void;
  onCommit: (window: TimeWindow, comparing: boolean) => void;
  /** The window that plays along the axis; null while none does. */
  playing: Store<TimeWindow | null>;
  /** The wheel turned over a moment: the axis so many times as long about it. */
  onZoom: (at: number, factor: number) => void;
}

export function TimeBrush(props: Props) {
  const { span, series, marks, window, comparison, stepMs, onDrag, onCommit, onZoom } = props;
  const [ref, size] = useSize();
  const svg = useRef<SVGSVGElement>(null);
  const width = size?.width ?? 0;
  const plays = useSyncExternalStore(props.playing.subscribe, () => props.playing.get() !== null);
  const layout = useMemo(
    () =>
      width > 120
        ? timelineLayout(series, marks, span, { left: LEFT, right: width - RIGHT, top: TOP + 6, bottom: BOTTOM })
        : null,
    [series, marks, span, width],
  );
  const { shown, compared, handlers } = useBrushDrag({
    svg,
    layout,
    span,
    stepMs,
    window,
    comparison,
    onDrag,
    onCommit,
  });
  useWheelZoom(ref, svg, layout, onZoom);
  return (
    <div ref={ref} className="brush">
      {layout && (
        <svg
          ref={svg}
          width={width}
          height={HEIGHT}
          {...handlers}
          role="img"
          aria-label={`Stall ratio of the ${props.devices} from ${intervalText(span, span.to)} ${ZONE}; selected ${intervalText(shown, span.to)}`}
        >
          <BrushBackdrop
            unit={props.unit}
            devices={props.devices}
            span={span}
            series={series}
            gaps={props.gaps}
            countedShare={props.countedShare}
            through={props.through}
            stale={props.stale}
            onMark={props.onMark}
            layout={layout}
            width={width}
          />
          {compared && <BrushBand layout={layout} span={span} window={compared} kind="comparison" />}
          {!plays && <BrushBand layout={layout} span={span} window={shown} kind="window" />}
        </svg>
      )}
      {layout && <BrushPlaying now={props.playing} layout={layout} span={span} />}
    </div>
  );
}
