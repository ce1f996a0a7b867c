/** What lies behind the windows of a time axis: curves with their key, gaps, change marks, the time without data, ticks. */
import { memo, useId } from "react";
import { count, percent } from "../lib/format";
import { clock, day, timeTicks, type TimeWindow, ZONE } from "../lib/time";
import { ValueAxis } from "./axis";
import type { TimelineLayout, TimelineSeries } from "./timeline";

// Measures of the time axis that its parts share, in pixels.

export const HEIGHT = 118;
export const TOP = 26;
export const BOTTOM = 92;
/** Where the axis begins, and how much before the right edge it ends. */
export const LEFT = 40;
export const RIGHT = 4;

/** Time in which this many devices sent nothing. */
interface GapSpan extends TimeWindow {
  devices: number;
}

/** Counted for at least this share is counted throughout. */
const WHOLE = 0.995;
const DAY_MS = 86_400_000;

export interface BackdropProps {
  /** Of the curves' values. */
  unit: string;
  /** Of whom they are: routers, or switches. */
  devices: string;
  span: TimeWindow;
  series: TimelineSeries;
  gaps: GapSpan[];
  /** Share of the axis in which anything was counted; null while that is unknown. */
  countedShare: number | null;
  /** Data are complete up to here; later times are hatched when `stale`. */
  through: number | null;
  stale: boolean;
  /** A change mark was chosen. */
  onMark: (at: number) => void;
}

interface Placed extends BackdropProps {
  layout: TimelineLayout;
  width: number;
}

export const BrushBackdrop = memo(function BrushBackdrop(props: Placed) {
  const { layout, width, span, gaps, countedShare, through, stale, onMark } = props;
  const right = width - RIGHT;
  const silentFrom = stale && through !== null ? Math.max(span.from, through) : null;
  return (
    <>
      <Gaps layout={layout} span={span} gaps={gaps} />
      <ValueAxis ticks={layout.ticks} y={layout.y} left={LEFT} right={right} />
      <path d={layout.band} className="spread" />
      <path d={layout.median} className="median" />
      <path d={layout.high} className="high" />
      {props.series.p95.some((value) => value !== null) && <Key {...props} right={right} />}
      {countedShare === 0 && (
        <text x={(LEFT + right) / 2} y={(TOP + BOTTOM) / 2} textAnchor="middle" className="counted-share">
          No counters in this period
        </text>
      )}
      {silentFrom !== null && silentFrom < span.to && <Silent layout={layout} from={silentFrom} right={right} />}
      <Marks layout={layout} onMark={onMark} />
      <Ticks layout={layout} span={span} right={right} />
    </>
  );
});

function Gaps({ layout, span, gaps }: Pick<Placed, "layout" | "span" | "gaps">) {
  return gaps.map((gap) => {
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
  });
}

function Key({
  devices,
  unit,
  countedShare,
  right,
}: Pick<Placed, "devices" | "unit" | "countedShare"> & { right: number }) {
  // The button of the table stands at the right of the key.
  const narrow = right - LEFT < 420;
  return (
    <text x={LEFT + 4} y={12} className="key">
      <tspan className="key-high">— 95th percentile{narrow ? "" : ` of ${devices}`}</tspan>
      <tspan dx="10">— median</tspan>
      {!narrow && <tspan dx="10">{unit}</tspan>}
      {countedShare !== null && countedShare < WHOLE && (
        <tspan dx="10" className="counted-share">
          {`counted in ${percent(countedShare)}${narrow ? "" : " of this time"}`}
        </tspan>
      )}
    </text>
  );
}

function Silent({ layout, from, right }: { layout: TimelineLayout; from: number; right: number }) {
  const pattern = useId();
  const x = layout.x(from);
  return (
    <>
      <defs>
        <pattern id={pattern} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line x1="0" y1="0" x2="0" y2="5" className="hatch" />
        </pattern>
      </defs>
      <rect x={x} y={TOP - 4} width={right - x} height={BOTTOM - TOP + 4} fill={`url(#${pattern})`} />
      <text x={right - 4} y={TOP + 10} textAnchor="end" className="silent">
        no data since {clock(from, true)}
      </text>
    </>
  );
}

function Marks({ layout, onMark }: Pick<Placed, "layout" | "onMark">) {
  return layout.marks.map((mark) => (
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
      <title>{`${clock(mark.ts, true)} ${mark.text}: click to compare before and after`}</title>
    </g>
  ));
}

function Ticks({ layout, span, right }: Pick<Placed, "layout" | "span"> & { right: number }) {
  const ticks = timeTicks(span, Math.max(2, Math.floor((right + RIGHT) / 150)));
  const length = span.to - span.from;
  const [long, days] = [length > DAY_MS, length > 14 * DAY_MS];
  return (
    <>
      {ticks.map((tick, i) => {
        const x = layout.x(tick);
        const text = days ? day(tick) : long ? `${day(tick)} ${clock(tick)}` : clock(tick, length < 300_000);
        return x < right - (days ? 120 : 70) ? (
          <text key={tick} x={x} y={110} textAnchor={x < LEFT + 12 && i === 0 ? "start" : "middle"}>
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
}
