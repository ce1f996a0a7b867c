/** Which window of time the page shows, and the axis around it. Pure: times in milliseconds. */
import { shifted, type TimeWindow } from "../../lib/time";
import { SPAN_MS, windowFrom, type FabricSearch, type Span } from "./address";

/** Live pictures follow at this pace; samples may come faster. */
export const TICK_MS = 5000;
/** A live window is this share of the axis: 10 minutes of an hour. */
const LIVE_SHARE = 6;
/** Frames for brushing: this much at most over the wire (8 bytes per router and frame). */
const FRAME_BYTES = 640_000;

export interface Clockwork {
  span: TimeWindow;
  window: TimeWindow;
  comparison: TimeWindow;
  live: boolean;
  /** Newest data. */
  edge: number;
  stepMs: number;
}

/** Points on the axis of an overview. */
export const overviewPoints = (spanMs: number) => Math.min(400, Math.round(spanMs / 5000));

/** A dragged window begins and ends on a grid: that of axes up to so long, in milliseconds. */
const GRID = [
  [900_000, 5000],
  [3_600_000, 10_000],
  [86_400_000, 60_000],
  [7 * 86_400_000, 600_000],
  [31 * 86_400_000, 3_600_000],
] as const;
const LONGEST_GRID_MS = 86_400_000;

const grid = (spanMs: number) => GRID.find(([longest]) => spanMs <= longest)?.[1] ?? LONGEST_GRID_MS;

/** An hour, or less where there are not as many data yet. */
export const defaultSpan = (first: number | null, edge: number): Span =>
  first !== null && edge - first < SPAN_MS["15m"] ? "15m" : "1h";

export function clockwork(search: FabricSearch, edge: number, first: number | null = null): Clockwork {
  const zoom = windowFrom(search.afrom, search.ato);
  const spanMs = SPAN_MS[search.span ?? defaultSpan(first, edge)];
  const stepMs = grid(zoom ? zoom.to - zoom.from : spanMs);
  const chosen = windowFrom(search.from, search.to);
  const liveEdge = Math.floor(edge / TICK_MS) * TICK_MS;
  const window = chosen ?? { from: liveEdge - spanMs / LIVE_SHARE, to: liveEdge };
  const comparison = comparisonOf(search, window);
  return {
    span: zoom ?? axis(window, chosen ? edge : liveEdge, spanMs, stepMs, Boolean(chosen)),
    window,
    comparison,
    live: !chosen,
    edge,
    stepMs,
  };
}

const HOUR_MS = 3_600_000;

/** The window that another one is compared with: the chosen one, or one that moves with it. */
export function comparisonOf(search: FabricSearch, window: TimeWindow): TimeWindow {
  const chosen = windowFrom(search.cfrom, search.cto);
  if (chosen) return chosen;
  if (search.against === "hour") return { from: window.from - HOUR_MS, to: window.from };
  if (search.against === "hour-ago") return shifted(window, -HOUR_MS);
  if (search.against === "day-ago") return shifted(window, -24 * HOUR_MS);
  if (search.against === "week-ago") return shifted(window, -7 * 24 * HOUR_MS);
  return { from: 2 * window.from - window.to, to: window.from };
}

/** The window after (1) or before (-1) this one, no further than the newest data; null if nothing newer is to be seen. */
export function neighbouring(window: TimeWindow, by: 1 | -1, edge: number): TimeWindow | null {
  const length = window.to - window.from;
  if (by < 0) return shifted(window, -length);
  const step = Math.min(length, edge - window.to);
  return step > 0 ? shifted(window, step) : null;
}

/** Equally long windows after and before a moment, as far as there are data. */
export function aroundMark(at: number, length: number, edge: number): { after: TimeWindow; before: TimeWindow } {
  const half = Math.max(60_000, Math.min(length, edge - at));
  return { after: { from: at, to: at + half }, before: { from: at - half, to: at } };
}

export const againstText = (search: FabricSearch): string =>
  search.cfrom
    ? "the chosen one"
    : search.against === "hour"
      ? "the hour before"
      : search.against === "hour-ago"
        ? "an hour earlier"
        : search.against === "day-ago"
          ? "a day earlier"
          : search.against === "week-ago"
            ? "the same time last week"
            : "the one before";

/** The axis ends at the newest data while that keeps a chosen window well inside, else it centres on the window. */
function axis(window: TimeWindow, edge: number, spanMs: number, stepMs: number, chosen: boolean): TimeWindow {
  if (!chosen) return { from: edge - spanMs, to: edge };
  const length = Math.max(spanMs, (window.to - window.from) * 1.5);
  // A coarse grid keeps the axis still while new data arrive after a chosen window.
  const coarse = length / 6;
  const newest = Math.ceil(edge / coarse) * coarse;
  if (window.to <= newest && window.from >= newest - length) return { from: newest - length, to: newest };
  const middle = Math.round((window.from + window.to) / 2 / coarse) * coarse;
  const to = Math.ceil((middle + length / 2) / stepMs) * stepMs;
  return { from: to - length, to };
}

const FRAME_STEPS_S = [
  10, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 345_600, 691_200,
  1_382_400,
];
/** The longest step that the API takes. */
const LONGEST_STEP_S = 30 * 86_400;

export function frameStepSeconds(spanMs: number, routers: number): number {
  const most = Math.max(12, Math.floor(FRAME_BYTES / (8 * Math.max(1, routers))));
  return FRAME_STEPS_S.find((step) => spanMs / 1000 / step <= most) ?? LONGEST_STEP_S;
}

/** Longer and shorter axes in the order of the control. */
export const SPAN_LABELS: Record<Span, string> = {
  "15m": "15 min",
  "1h": "1 h",
  "6h": "6 h",
  "24h": "24 h",
  "7d": "7 d",
  "30d": "30 d",
  "1y": "1 y",
};
