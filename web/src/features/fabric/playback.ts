/** How a window plays along the time axis, and how that axis is zoomed. Pure: times in milliseconds. */
import type { TimeWindow } from "../../lib/time";

/** Seconds in which the whole axis passes, slowest first. */
export const PASSES_S = [120, 60, 30, 10] as const;
export type Pass = (typeof PASSES_S)[number];

/** A window that plays is at most this share of the axis, or nothing would move. */
const MOST_SHARE = 1 / 3;
const NEAR_END = 0.005;
export const SHORTEST_AXIS_MS = 120_000;
export const LONGEST_AXIS_MS = 366 * 86_400_000;

const lengthOf = ({ from, to }: TimeWindow) => to - from;

/** Where playing begins: at the window, or at the start of the axis where the window has come to its end or lies outside. */
export function playedFrom(window: TimeWindow, span: TimeWindow): TimeWindow {
  const length = Math.min(lengthOf(window), lengthOf(span) * MOST_SHARE);
  const over = window.to >= span.to - lengthOf(span) * NEAR_END || window.from < span.from;
  const from = over ? span.from : window.from;
  return { from, to: from + length };
}

/** The window after so many milliseconds of playing, no further than the axis. */
export function playedAt(start: TimeWindow, span: TimeWindow, elapsedMs: number, pass: Pass): TimeWindow {
  const ahead = (elapsedMs / 1000 / pass) * lengthOf(span);
  const by = Math.max(0, Math.min(ahead, span.to - start.to));
  return { from: start.from + by, to: start.to + by };
}

/** A window on the grid that windows of this axis begin and end on. */
export function onGrid({ from, to }: TimeWindow, stepMs: number): TimeWindow {
  const start = Math.round(from / stepMs) * stepMs;
  return { from: start, to: start + Math.max(stepMs, Math.round((to - from) / stepMs) * stepMs) };
}

/** The axis `factor` times as long about a moment that keeps its place; never beyond the newest data by more than it was. */
export function zoomed(span: TimeWindow, at: number, factor: number, edge: number): TimeWindow {
  const length = Math.max(SHORTEST_AXIS_MS, Math.min(LONGEST_AXIS_MS, lengthOf(span) * factor));
  const share = Math.max(0, Math.min(1, (at - span.from) / lengthOf(span)));
  const to = Math.min(at + (1 - share) * length, Math.max(edge, span.to));
  const second = Math.round(to / 1000) * 1000;
  return { from: Math.round((second - length) / 1000) * 1000, to: second };
}
