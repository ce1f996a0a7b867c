/** The machine over time (State and layout): median and 95th percentile of routers, gaps, change marks, and the window on it. */
import { scaleLinear, scaleSymlog } from "d3-scale";
import { area, line } from "d3-shape";
import { isKnown } from "../lib/format";
import type { TimeWindow } from "../lib/time";

export interface TimelineSeries {
  ts: number[];
  stepMs: number;
  p50: (number | null)[];
  p95: (number | null)[];
}

export interface TimelineMark {
  ts: number;
  text: string;
}

export interface TimelineBox {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface TimelineLayout {
  x: (ms: number) => number;
  invert: (x: number) => number;
  y: (ratio: number) => number;
  median: string;
  high: string;
  band: string;
  ticks: number[];
  marks: (TimelineMark & { x: number; shown: boolean })[];
}

/** Mean width of a letter at 11 px. */
const LETTER = 6.2;
const Y_TICKS = [0, 1, 4, 16, 64, 256, 1024];

export function timelineLayout(
  series: TimelineSeries,
  marks: TimelineMark[],
  span: TimeWindow,
  box: TimelineBox,
): TimelineLayout {
  const x = scaleLinear().domain([span.from, span.to]).range([box.left, box.right]);
  // While the axis is zoomed the series is longer than it, until its own arrives.
  const inSight = (ts: number) => ts + series.stepMs >= span.from && ts <= span.to;
  const sights = series.ts.flatMap((ts, i) => (inSight(ts) ? [i] : []));
  const most = Math.max(2, ...sights.flatMap((i) => [series.p95[i], series.p50[i]]).filter(isKnown));
  const y = scaleSymlog()
    .constant(1)
    .domain([0, most * 1.1])
    .range([box.bottom, box.top]);
  const points = sights.map((i) => ({
    x: Math.max(box.left, Math.min(box.right, x((series.ts[i] ?? NaN) + series.stepMs / 2))),
    p50: series.p50[i],
    p95: series.p95[i],
  }));
  type Point = (typeof points)[number];
  const draw = (value: (p: Point) => number | null | undefined) =>
    line<Point>()
      .defined((p) => isKnown(value(p)))
      .x((p) => p.x)
      .y((p) => y(value(p) ?? 0))(points) ?? "";
  const band =
    area<Point>()
      .defined((p) => isKnown(p.p50) && isKnown(p.p95))
      .x((p) => p.x)
      .y0((p) => y(p.p50 ?? 0))
      .y1((p) => y(p.p95 ?? 0))(points) ?? "";
  const within = marks.filter((mark) => mark.ts >= span.from && mark.ts <= span.to).sort((a, b) => a.ts - b.ts);
  // A text stands only where it runs into neither the next mark nor the edge.
  const placed = within.map((mark, i) => {
    const at = x(mark.ts);
    const next = within[i + 1];
    const end = at + mark.text.length * LETTER + 20;
    return { ...mark, x: at, shown: end <= (next ? x(next.ts) : box.right + 8) };
  });
  return {
    x,
    invert: (pixel) => x.invert(pixel),
    y,
    median: draw((p) => p.p50),
    high: draw((p) => p.p95),
    band,
    ticks: Y_TICKS.filter((tick) => tick <= most * 1.1 && (tick > 0 || most < 4)),
    marks: placed,
  };
}

export type Grip = "new" | "move" | "from" | "to";

/** What a pointer at `ms` takes hold of: an end of the window within `slack`, the window itself, or nothing. */
export function gripAt(window: TimeWindow | null, ms: number, slack: number): Grip {
  if (!window) return "new";
  if (Math.abs(ms - window.from) <= slack) return "from";
  if (Math.abs(ms - window.to) <= slack) return "to";
  return ms > window.from && ms < window.to ? "move" : "new";
}

/** The window that a drag from `start` to `now` makes, kept inside the span and on the step's grid. */
export function dragged(
  grip: Grip,
  original: TimeWindow | null,
  start: number,
  now: number,
  span: TimeWindow,
  stepMs: number,
): TimeWindow {
  const snap = (ms: number) => Math.round(ms / stepMs) * stepMs;
  const clamp = (ms: number) => Math.max(span.from, Math.min(span.to, ms));
  if (grip === "move" && original) {
    const length = original.to - original.from;
    const from = Math.max(span.from, Math.min(span.to - length, snap(original.from + now - start)));
    return { from, to: from + length };
  }
  const fixed = grip === "from" && original ? original.to : grip === "to" && original ? original.from : start;
  const a = snap(clamp(fixed));
  const b = snap(clamp(now));
  const from = Math.min(a, b);
  return { from, to: Math.max(Math.max(a, b), from + stepMs) };
}

/** The event that a playing window is passing: the last one within it. */
export const passing = <M extends { ts: number }>(marks: readonly M[], window: TimeWindow): M | null =>
  marks.reduce<M | null>(
    (last, mark) => (mark.ts >= window.from && mark.ts <= window.to && mark.ts >= (last?.ts ?? 0) ? mark : last),
    null,
  );
