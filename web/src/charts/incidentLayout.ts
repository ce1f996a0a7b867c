/** The minutes of an incident, and below them the slow stretches of the jobs that it slowed, over one time axis (layout). */
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { timeTicks, type TimeWindow } from "../lib/time";
import type { Gutters } from "./parts";

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

/** Rows of jobs: the name stands beside the bar, or above it. */
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
