/** One time axis for everything: the machine's stall ratio, change marks, gaps, the window and the one it is compared with. */
import {
  memo,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type PointerEvent,
} from "react";
import { count, percent } from "../lib/format";
import { clock, day, intervalText, moment as momentText, timeTicks, ZONE, type TimeWindow } from "../lib/time";
import type { Store } from "../lib/store";
import { zoomOf } from "../lib/zoom";
import { ValueAxis } from "./axis";
import { useSize } from "./Canvas";
import {
  dragged,
  gripAt,
  passing,
  timelineLayout,
  type Grip,
  type TimelineLayout,
  type TimelineMark,
  type TimelineSeries,
} from "./timeline";

const HEIGHT = 118;
const TOP = 26;
const BOTTOM = 92;
/** Counted for at least this share is counted throughout. */
const WHOLE = 0.995;
/** The axis is so many times as long after one notch of a wheel. */
const WHEEL = 1.25;

export interface GapSpan {
  from: number;
  to: number;
  devices: number;
}

interface Props {
  /** Of the curves' values. */
  unit: string;
  /** Of whom they are: routers, or switches. */
  devices: string;
  span: TimeWindow;
  series: TimelineSeries;
  marks: TimelineMark[];
  gaps: GapSpan[];
  window: TimeWindow;
  comparison: TimeWindow | null;
  /** Share of the axis in which anything was counted; null while that is unknown. */
  countedShare: number | null;
  /** Data are complete up to here; later times are hatched when `stale`. */
  through: number | null;
  stale: boolean;
  stepMs: number;
  onDrag: (window: TimeWindow, comparing: boolean) => void;
  onCommit: (window: TimeWindow, comparing: boolean) => void;
  /** A change mark was chosen. */
  onMark: (at: number) => void;
  /** The window that plays along the axis; null while none does. */
  playing: Store<TimeWindow | null>;
  /** The wheel turned over a moment: the axis so many times as long about it. */
  onZoom: (at: number, factor: number) => void;
}

interface Drag {
  grip: Grip;
  comparing: boolean;
  original: TimeWindow | null;
  start: number;
  window: TimeWindow;
}

export function TimeBrush(props: Props) {
  const { span, series, marks, window, comparison, stepMs, onDrag, onCommit, onZoom } = props;
  const [ref, size] = useSize();
  const svg = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const width = size?.width ?? 0;
  const plays = useSyncExternalStore(props.playing.subscribe, () => props.playing.get() !== null);
  const layout = useMemo(
    () =>
      width > 120
        ? timelineLayout(series, marks, span, { left: 40, right: width - 4, top: TOP + 6, bottom: BOTTOM })
        : null,
    [series, marks, span, width],
  );
  const shown = drag && !drag.comparing ? drag.window : window;
  const compared = drag?.comparing ? drag.window : comparison;

  const timeAt = (event: PointerEvent) =>
    layout?.invert((event.clientX - (svg.current?.getBoundingClientRect().left ?? 0)) / zoomOf()) ?? 0;
  const slack = layout ? layout.invert(6) - layout.invert(0) : 0;

  const down = (event: PointerEvent<SVGSVGElement>) => {
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
  const move = (event: PointerEvent) => {
    if (!drag) return;
    const next = dragged(drag.grip, drag.original, drag.start, timeAt(event), span, stepMs);
    if (next.from === drag.window.from && next.to === drag.window.to) return;
    setDrag({ ...drag, window: next });
    onDrag(next, drag.comparing);
  };
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
    const box = ref.current;
    const listen = (event: WheelEvent) => turn.current(event);
    box?.addEventListener("wheel", listen, { passive: false });
    return () => box?.removeEventListener("wheel", listen);
  }, [ref]);
  const up = () => {
    if (!drag) return;
    const moved = !drag.original || drag.window.from !== drag.original.from || drag.window.to !== drag.original.to;
    setDrag(null);
    if (moved) onCommit(drag.window, drag.comparing);
  };

  return (
    <div ref={ref} className="brush">
      {layout && (
        <svg
          ref={svg}
          width={width}
          height={HEIGHT}
          onPointerDown={down}
          onPointerMove={move}
          onPointerUp={up}
          onPointerCancel={() => setDrag(null)}
          role="img"
          aria-label={`Stall ratio of the ${props.devices} from ${intervalText(span, span.to)} ${ZONE}; selected ${intervalText(shown, span.to)}`}
        >
          <Backdrop {...props} layout={layout} width={width} />
          {compared && <Band layout={layout} span={span} window={compared} kind="comparison" />}
          {!plays && <Band layout={layout} span={span} window={shown} kind="window" />}
        </svg>
      )}
      {layout && <Playing now={props.playing} layout={layout} span={span} />}
    </div>
  );
}

interface PlayingProps {
  now: Store<TimeWindow | null>;
  layout: TimelineLayout;
  span: TimeWindow;
}

/**
 * The window as it plays, the time at which it ends, and the event that it passes. They lie beside the picture and are moved by hand: within it each frame
 * would lay out and paint the whole axis anew, and a component that reads the store makes React draw whatever it is at in one go.
 */
function Playing({ now, layout, span }: PlayingProps) {
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

/** Shows a text at a place, or hides it if there is none. */
function put(element: HTMLElement | null, text: string | null, transform: string) {
  if (!element) return;
  if (element.hidden !== (text === null)) element.hidden = text === null;
  if (element.textContent !== (text ?? "")) element.textContent = text;
  if (text !== null && element.style.transform !== transform) element.style.transform = transform;
}

function Band({
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

type BackdropProps = Pick<
  Props,
  "unit" | "devices" | "span" | "gaps" | "countedShare" | "through" | "stale" | "series" | "onMark"
> & {
  layout: TimelineLayout;
  width: number;
};

const Backdrop = memo(function Backdrop({
  unit,
  devices,
  span,
  gaps,
  countedShare,
  through,
  stale,
  series,
  layout,
  width,
  onMark,
}: BackdropProps) {
  const pattern = useId();
  const left = 40;
  const right = width - 4;
  const ticks = timeTicks(span, Math.max(2, Math.floor(width / 150)));
  const long = span.to - span.from > 86_400_000;
  const days = span.to - span.from > 14 * 86_400_000;
  const silentFrom = stale && through !== null ? Math.max(span.from, through) : null;
  const first = series.p95.find((value) => value !== null);
  // The button of the table stands at the right of the key.
  const narrow = right - left < 420;
  return (
    <>
      <defs>
        <pattern id={pattern} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line x1="0" y1="0" x2="0" y2="5" className="hatch" />
        </pattern>
      </defs>
      {gaps.map((gap) => {
        const a = layout.x(Math.max(span.from, gap.from));
        const b = layout.x(Math.min(span.to, gap.to));
        return b > a ? (
          <g key={`${gap.from} ${gap.to} ${gap.devices}`} className="gap">
            <rect x={a} y={TOP - 4} width={Math.max(1, b - a)} height={BOTTOM - TOP + 4} />
            {b - a > 56 && (
              <text x={a + 6} y={TOP + 10}>
                {count(gap.devices)} silent
              </text>
            )}
          </g>
        ) : null;
      })}
      <ValueAxis ticks={layout.ticks} y={layout.y} left={left} right={right} />
      <path d={layout.band} className="spread" />
      <path d={layout.median} className="median" />
      <path d={layout.high} className="high" />
      {first !== undefined && (
        <text x={left + 4} y={12} className="key">
          <tspan className="key-high">— 95th percentile{narrow ? "" : ` of ${devices}`}</tspan>
          <tspan dx="10">— median</tspan>
          {!narrow && <tspan dx="10">{unit}</tspan>}
          {countedShare !== null && countedShare < WHOLE && (
            <tspan dx="10" className="counted-share">
              {`counted in ${percent(countedShare)}${narrow ? "" : " of this time"}`}
            </tspan>
          )}
        </text>
      )}
      {countedShare === 0 && (
        <text x={(left + right) / 2} y={(TOP + BOTTOM) / 2} textAnchor="middle" className="counted-share">
          No counters in this period
        </text>
      )}
      {silentFrom !== null && silentFrom < span.to && (
        <>
          <rect
            x={layout.x(silentFrom)}
            y={TOP - 4}
            width={right - layout.x(silentFrom)}
            height={BOTTOM - TOP + 4}
            fill={`url(#${pattern})`}
          />
          <text x={right - 4} y={TOP + 10} textAnchor="end" className="silent">
            no data since {clock(silentFrom, true)}
          </text>
        </>
      )}
      {layout.marks.map((mark) => (
        // The same marks stand in the menu of what to compare with, for the keyboard.
        <g
          key={`${mark.ts} ${mark.text}`}
          className={mark.shown ? "mark" : "mark mark-small"}
          onPointerDown={(event) => event.stopPropagation()}
          onClick={() => onMark(mark.ts)}
        >
          <rect className="mark-hit" x={mark.x - 6} y={TOP - 14} width={12} height={16} />
          <line x1={mark.x} x2={mark.x} y1={TOP - 6} y2={BOTTOM} />
          <path d={`M${mark.x} ${TOP - 4}l-3.5 -5h7z`} />
          {mark.shown && mark.x > 330 && (
            <text x={mark.x + 7} y={TOP - 5}>
              {mark.text}
            </text>
          )}
          <title>{`${clock(mark.ts, true)} ${mark.text}: click to compare after with before`}</title>
        </g>
      ))}
      {ticks.map((tick, i) => {
        const x = layout.x(tick);
        const text = days
          ? day(tick)
          : long
            ? `${day(tick)} ${clock(tick)}`
            : clock(tick, span.to - span.from < 300_000);
        return x < right - (days ? 120 : 70) ? (
          <text key={tick} x={x} y={110} textAnchor={x < left + 12 && i === 0 ? "start" : "middle"}>
            {text}
          </text>
        ) : null;
      })}
      <text x={right} y={110} textAnchor="end">
        {days ? `${day(span.to)} ` : ""}
        {clock(span.to)} {ZONE}
      </text>
    </>
  );
});
