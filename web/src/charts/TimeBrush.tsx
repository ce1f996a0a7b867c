/** One time axis for everything: the machine's stall ratio, change marks, gaps, the window and the one it is compared with. */
import {
  type PointerEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type { Store } from "../lib/store";
import { intervalText, moment as momentText, type TimeWindow, ZONE } from "../lib/time";
import { zoomOf } from "../lib/screen";
import { type BackdropProps, BOTTOM, BrushBackdrop, HEIGHT, LEFT, RIGHT, TOP } from "./BrushBackdrop";
import { useSize } from "./Canvas";
import {
  dragged,
  type Grip,
  gripAt,
  passing,
  type TimelineLayout,
  timelineLayout,
  type TimelineMark,
} from "./timeline";

// A drag on a time axis: with Shift it sets the window that is compared with.

interface Given {
  svg: RefObject<SVGSVGElement | null>;
  layout: TimelineLayout | null;
  span: TimeWindow;
  stepMs: number;
  window: TimeWindow;
  comparison: TimeWindow | null;
  onDrag: (window: TimeWindow, comparing: boolean) => void;
  onCommit: (window: TimeWindow, comparing: boolean) => void;
}

interface Drag {
  grip: Grip;
  comparing: boolean;
  original: TimeWindow | null;
  start: number;
  window: TimeWindow;
}

/** Both windows as they are while the drag goes on, and what the axis listens with. */
function useBrushDrag({ svg, layout, span, stepMs, window, comparison, onDrag, onCommit }: Given) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const timeAt = (event: PointerEvent) =>
    layout?.invert((event.clientX - (svg.current?.getBoundingClientRect().left ?? 0)) / zoomOf()) ?? 0;
  const slack = layout ? layout.invert(6) - layout.invert(0) : 0;

  const onPointerDown = (event: PointerEvent<SVGSVGElement>) => {
    if (event.button !== 0 || !layout) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    const start = timeAt(event);
    const comparing = event.shiftKey;
    const original = comparing ? comparison : window;
    const grip = gripAt(original, start, slack);
    setDrag({
      grip,
      comparing,
      original,
      start,
      window: original && grip !== "new" ? original : dragged("new", null, start, start, span, stepMs),
    });
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!drag) return;
    const next = dragged(drag.grip, drag.original, drag.start, timeAt(event), span, stepMs);
    if (next.from === drag.window.from && next.to === drag.window.to) return;
    setDrag({ ...drag, window: next });
    onDrag(next, drag.comparing);
  };
  const onPointerUp = () => {
    if (!drag) return;
    const moved = !drag.original || drag.window.from !== drag.original.from || drag.window.to !== drag.original.to;
    setDrag(null);
    if (moved) onCommit(drag.window, drag.comparing);
  };
  return {
    shown: drag && !drag.comparing ? drag.window : window,
    compared: drag?.comparing ? drag.window : comparison,
    handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: () => setDrag(null) },
  };
}

// The wheel over a time axis makes it longer or shorter about the pointer.

/** The axis is so many times as long after one notch of a wheel. */
const WHEEL = 1.25;

function useWheelZoom(
  box: RefObject<HTMLElement | null>,
  svg: RefObject<SVGSVGElement | null>,
  layout: TimelineLayout | null,
  onZoom: (at: number, factor: number) => void,
) {
  // React listens to wheels passively, and the page would scroll along.
  const turn = useRef<(event: WheelEvent) => void>(() => {});
  useEffect(() => {
    turn.current = (event) => {
      if (!layout || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const left = svg.current?.getBoundingClientRect().left ?? 0;
      onZoom(layout.invert((event.clientX - left) / zoomOf()), WHEEL ** Math.max(-1, Math.min(1, event.deltaY / 100)));
    };
  });
  useEffect(() => {
    const element = box.current;
    const listen = (event: WheelEvent) => turn.current(event);
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  }, [box]);
}

/** A window on the time axis: the chosen one, with its handles, or the one that it is compared with. */
function BrushBand({
  layout,
  span,
  window,
  kind,
}: {
  layout: TimelineLayout;
  span: TimeWindow;
  window: TimeWindow;
  kind: "window" | "comparison";
}) {
  const from = layout.x(Math.max(span.from, window.from));
  const to = layout.x(Math.min(span.to, window.to));
  if (to <= from) return null;
  return (
    <g className={`band band-${kind}`}>
      <rect x={from} y={TOP - 4} width={Math.max(1, to - from)} height={BOTTOM - TOP + 6} />
      {kind === "window" &&
        [from, to].map((x) => <line key={x} className="handle" x1={x} x2={x} y1={TOP - 4} y2={BOTTOM + 2} />)}
    </g>
  );
}

interface PlayingProps {
  now: Store<TimeWindow | null>;
  layout: TimelineLayout;
  span: TimeWindow;
}

/**
 * The window as it plays, the time at which it ends, and the event that it passes. They are outside of the picture and are moved by hand: within it each frame
 * would lay out and paint the whole axis anew, and a component that reads the store makes React draw whatever it is at in one go.
 */
function BrushPlaying({ now, layout, span }: PlayingProps) {
  const band = useRef<HTMLSpanElement>(null);
  const time = useRef<HTMLSpanElement>(null);
  const event = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const place = () => {
      const moving = now.get();
      const from = moving && layout.x(Math.max(span.from, moving.from));
      const to = moving && layout.x(Math.min(span.to, moving.to));
      const passed = moving && passing(layout.marks, moving);
      const before = passed && to !== null && passed.x > to - 120;
      put(band.current, from !== null && to !== null && to > from ? "" : null, `translateX(${from}px)`);
      if (band.current && from !== null && to !== null) {
        // Without a fraction its width stays while it moves.
        const width = `${Math.max(1, Math.round(to - from))}px`;
        if (band.current.style.width !== width) band.current.style.width = width;
      }
      put(
        time.current,
        moving && momentText(moving.to, span.to, span.to - span.from < 7_200_000),
        `translate(calc(${(to ?? 0) - 4}px - 100%), ${BOTTOM - 18}px)`,
      );
      put(
        event.current,
        passed && passed.text,
        before
          ? `translate(calc(${passed.x - 7}px - 100%), ${TOP - 2}px)`
          : `translate(${(passed?.x ?? 0) + 7}px, ${TOP - 2}px)`,
      );
    };
    place();
    return now.subscribe(place);
  }, [now, layout, span]);
  return (
    <>
      <span ref={band} className="playing-band" style={{ top: TOP - 4, height: BOTTOM - TOP + 6 }} hidden />
      <span ref={time} className="playing" hidden />
      <span ref={event} className="playing" hidden />
    </>
  );
}

/** Shows a text at a place, or hides it where there is none. */
function put(element: HTMLElement | null, text: string | null, transform: string) {
  if (!element) return;
  if (element.hidden !== (text === null)) element.hidden = text === null;
  if (element.textContent !== (text ?? "")) element.textContent = text;
  if (text !== null && element.style.transform !== transform) element.style.transform = transform;
}

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
