import { mean, quantile } from "d3-array";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { line } from "d3-shape";
import type { JobParts } from "../api/shapes";
import { parseTime, timeTicks, type TimeWindow } from "../lib/time";

// Counters of a job's own parts as rows over one time axis (layout).

/** Room next to and above the rows; the step times above leave the same at their sides. */
export interface Gutters {
  left: number;
  right: number;
  /** Height of a row. */
  row: number;
  /** Of it for its name and mean, where these stand above its curve. */
  head: number;
}

/** Names at the left and means at the right; on a phone above the curves, which have the width to themselves. */
export const WIDE: Gutters = { left: 132, right: 64, row: 62, head: 0 };
export const NARROW: Gutters = { left: 36, right: 8, row: 80, head: 20 };
/** A line is broken if nothing was counted for so many times the usual distance of two values. */
const BROKEN = 3;

export interface PartRow {
  key: string;
  label: string;
  unit: string;
  top: number;
  y: ScaleLinear<number, number>;
  ticks: number[];
  path: string;
  /** 10 to 90 % of the values before the onset. */
  usual: { y: number; height: number } | null;
  mean: number | null;
  /** Mean since the onset over the mean before it. */
  factor: number | null;
}

export function partRows(parts: JobParts, span: TimeWindow, onset: number | null, width: number, gutters: Gutters) {
  const { left, right, row: height, head } = gutters;
  const x = scaleLinear()
    .domain([span.from, span.to])
    .range([left, width - right]);
  const middle = parts.ts.map((ts) => (parseTime(ts) ?? 0) + parts.step_s * 500);
  const rows = parts.parts.map((one, i): PartRow => {
    const known = one.values.flatMap((value, at) => (value === null ? [] : [{ at: middle[at] ?? 0, value }]));
    const before = onset === null ? [] : known.filter((k) => k.at < onset).map((k) => k.value);
    const since = onset === null ? known.map((k) => k.value) : known.filter((k) => k.at >= onset).map((k) => k.value);
    const top = i * height;
    const y = scaleLinear()
      .domain([0, Math.max(...known.map((k) => k.value), 1e-9) * 1.05])
      .nice(2)
      .range([top + height - 10, top + head + 8]);
    const [low, high] = [quantile(before, 0.1), quantile(before, 0.9)];
    const [now, was] = [mean(since) ?? null, mean(before)];
    return {
      key: one.key,
      label: one.label,
      unit: one.unit,
      top,
      y,
      ticks: y.ticks(2),
      // The middle of the first or last interval can be outside.
      path: paths(
        known.filter((k) => k.at >= span.from && k.at <= span.to),
        x,
        y,
      ),
      usual: low === undefined || high === undefined ? null : { y: y(high), height: Math.max(2, y(low) - y(high)) },
      mean: now,
      factor: now !== null && was ? now / was : null,
    };
  });
  return { x, rows };
}

function paths(
  known: { at: number; value: number }[],
  x: (ms: number) => number,
  y: (value: number) => number,
): string {
  const distance = quantile(
    known.slice(1).map((k, i) => k.at - (known[i]?.at ?? 0)),
    0.5,
  );
  const pieces: (typeof known)[] = [];
  known.forEach((one, i) => {
    const last = known[i - 1];
    if (!last || one.at - last.at > BROKEN * (distance ?? 0)) pieces.push([]);
    pieces.at(-1)?.push(one);
  });
  const draw = line<{ at: number; value: number }>()
    .x((k) => x(k.at))
    .y((k) => y(k.value));
  return pieces.map((piece) => draw(piece) ?? "").join("");
}

// The minutes of an incident, and below them the slow stretches of the jobs that it slowed, over one time axis (layout).

/** Times in milliseconds. */
export interface IncidentTimes {
  /** When it began, and when it ended or was looked at last. */
  span: TimeWindow;
  minutes: { at: number; waiting: number; part: number | null }[];
  quiet: number | null;
  /** `to` is null if the job was slow up to the incident's end. */
  slowed: { from: number; to: number | null }[];
}

interface Panel {
  top: number;
  bottom: number;
  y: ScaleLinear<number, number>;
  ticks: number[];
  path: string;
}

const MINUTE_MS = 60_000;
const WAITING = 132;
const PART = 64;
const GAP = 20;
const AXIS = 20;

/** Rows of jobs: the name is next to the bar, or above it. */
const rowOf = (gutters: Gutters) => (gutters.head ? 32 : 24);

export function incidentHeight(jobs: number, known: boolean, gutters: Gutters): number {
  return gutters.head + WAITING + (known ? GAP + gutters.head + PART : 0) + GAP + jobs * rowOf(gutters) + AXIS;
}

export function incidentLayout({ span, minutes, quiet, slowed }: IncidentTimes, width: number, gutters: Gutters) {
  const { left, right, head } = gutters;
  const from = Math.min(span.from, ...minutes.map((one) => one.at), ...slowed.map((one) => one.from));
  const ends = [...minutes.map((one) => one.at + MINUTE_MS), ...slowed.map((one) => one.to ?? from)];
  const to = Math.max(span.to, from + MINUTE_MS, ...ends);
  const x = scaleLinear()
    .domain([from, to])
    .range([left, width - right]);

  const panel = (
    top: number,
    height: number,
    most: number,
    value: (minute: (typeof minutes)[number]) => number | null,
  ): Panel => {
    const y = scaleLinear()
      .domain([0, most])
      .range([top + height, top]);
    return { top, bottom: top + height, y, ticks: y.ticks(3), path: steps(minutes, value, x, y) };
  };
  const most = Math.max(...minutes.map((one) => one.waiting), quiet ?? 0) * 1.05 || 1;
  const waiting = panel(head, WAITING, most, (one) => one.waiting);
  const known = minutes.some((one) => one.part !== null);
  const part = known ? panel(waiting.bottom + GAP + head, PART, 1, (one) => one.part) : null;
  const row = rowOf(gutters);
  const rows = (part ?? waiting).bottom + GAP;
  return {
    from,
    to,
    x,
    waiting,
    quiet: quiet === null ? null : waiting.y(quiet),
    part: part && { ...part, ticks: [0, 0.5, 1] },
    bars: slowed.map((one, i) => ({
      top: rows + i * row,
      x: x(one.from),
      width: Math.max(2, x(one.to ?? span.to) - x(one.from)),
    })),
    span: { x: x(span.from), width: x(span.to) - x(span.from) },
    bottom: rows + slowed.length * row,
    ticks: timeTicks({ from, to }, Math.max(2, Math.floor((width - left - right) / 110))),
  };
}

/** Each minute as wide as it lasts; where one is missing or unknown, so is the line. */
function steps(
  minutes: IncidentTimes["minutes"],
  value: (minute: IncidentTimes["minutes"][number]) => number | null,
  x: (ms: number) => number,
  y: (value: number) => number,
): string {
  let path = "";
  let end: number | null = null;
  for (const minute of minutes) {
    const of = value(minute);
    if (of === null) {
      end = null;
      continue;
    }
    path += `${end === minute.at ? "L" : "M"}${x(minute.at).toFixed(1)},${y(of).toFixed(1)}`;
    end = minute.at + MINUTE_MS;
    path += `H${x(end).toFixed(1)}`;
  }
  return path;
}
