/** Step times of a run (layout): a small line, the full chart with earlier runs, and a verdict in words. */
import { extent, max, quantile } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { isKnown } from "../lib/format";
import type { TimeWindow } from "../lib/time";

// Layout of a small line of step times, with the usual ones behind it; from zero, so that a slow step looks as much longer as it is.

interface Drawn {
  time: string;
  usual: string;
  /** Where the newest step is. */
  last: [number, number] | null;
}

export function stepLine(time: number[], usual: (number | null)[], width: number, height: number): Drawn {
  const most = Math.max(...time, ...usual.map((value) => value ?? 0), 1e-9);
  const x = (i: number) => (time.length > 1 ? 3 + (i / (time.length - 1)) * (width - 6) : width - 3);
  const y = (value: number) => height - 3 - (value / most) * (height - 6);
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, i) => x(i))
    .y((value) => y(value ?? 0));
  const newest = time.at(-1);
  return {
    time: path(time) ?? "",
    usual: path(usual) ?? "",
    last: newest === undefined ? null : [x(time.length - 1), y(newest)],
  };
}

type Column = (number | null)[];

export interface StepSeries {
  step: number[];
  time: Column;
  mean: Column | null;
  p10: Column | null;
  p90: Column | null;
  /** Runs compared with it. */
  others: { label: string; time: Column }[];
  /** The forecast of the steps to come. */
  ahead?: { step: number[]; expected: Column; low: Column; high: Column };
}

/** When steps were: epoch milliseconds at which each ends, by its number, and the axis that they lie on. */
export interface StepClock {
  end: (step: number) => number;
  span: TimeWindow;
  /** The last moment that is spoken of. */
  until: number;
  /** Pixels left and right of the picture. */
  left: number;
  right: number;
}

/** Steps laid end to end from a run's start: unknown ones last as the mean of other runs, those to come as forecast. */
export function stepEnds(startMs: number, series: StepSeries): Map<number, number> {
  const ends = new Map<number, number>();
  let at = startMs;
  const times = series.time.filter(isKnown);
  const usual = times.reduce((a, b) => a + b, 0) / Math.max(1, times.length);
  series.step.forEach((step, i) => {
    at += 1000 * (series.time[i] ?? series.mean?.[i] ?? usual);
    ends.set(step, at);
  });
  series.ahead?.step.forEach((step, i) => {
    if (ends.has(step)) return;
    at += 1000 * (series.ahead?.expected[i] ?? usual);
    ends.set(step, at);
  });
  return ends;
}

/** The steps of a run, and as many of others, that had ended by a moment. */
export function stepsUntil(series: StepSeries, startMs: number, until: number): StepSeries {
  const ends = stepEnds(startMs, series);
  const known = series.step.filter((step) => (ends.get(step) ?? until) <= until).length;
  const cut = (column: Column | null) => column?.slice(0, known) ?? null;
  return {
    ...series,
    step: series.step.slice(0, known),
    time: series.time.slice(0, known),
    mean: cut(series.mean),
    p10: cut(series.p10),
    p90: cut(series.p90),
    others: series.others.map((other) => ({ ...other, time: other.time.slice(0, known) })),
  };
}

/** The first steps of each counter. */
export const firstOf = (counters: Record<string, Column>, steps: number | undefined): Record<string, Column> =>
  Object.fromEntries(Object.entries(counters).map(([name, column]) => [name, column.slice(0, steps)]));

export interface StepsLayout {
  x: (step: number) => number;
  y: (seconds: number) => number;
  run: string;
  mean: string;
  band: string;
  others: { label: string; path: string }[];
  expected: string;
  ahead: string;
  xTicks: number[];
  yTicks: number[];
}

export function stepsLayout(series: StepSeries, width: number, height: number, time?: StepClock): StepsLayout {
  const next = series.ahead;
  const [first = 0, last = 1] = extent([...series.step, ...(next?.step ?? [])]);
  const byStep = scaleLinear()
    .domain([first, Math.max(last, first + 1)])
    .range([44, width - 8]);
  const byTime =
    time &&
    scaleLinear()
      .domain([time.span.from, time.span.to])
      .range([time.left, width - time.right]);
  const x = (step: number) => (byTime ? byTime(time.end(step)) : byStep(step));
  const all = [
    series.time,
    series.mean ?? [],
    series.p10 ?? [],
    series.p90 ?? [],
    ...series.others.map((other) => other.time),
    next?.expected ?? [],
    next?.low ?? [],
    next?.high ?? [],
  ]
    .flat()
    .filter(isKnown);
  const low = quantile(all, 0) ?? 0;
  const high = max(all) ?? 1;
  // A step chart may leave zero out when all of it lies far above, as in the dissertation's figures; the axis says where it starts.
  const floor = low > high * 0.4 ? low - (high - low) * 0.15 : 0;
  const y = scaleLinear()
    .domain([floor, high + (high - floor) * 0.05 || 1])
    .nice(4)
    .range([height - 24, 8]);
  const draw = (column: Column, at = series.step) =>
    line<number | null>()
      .defined(isKnown)
      .x((_, i) => x(at[i] ?? 0))
      .y((v) => y(v ?? 0))(column) ?? "";
  const between = (low: Column | null, high: Column | null, at: number[]) =>
    low && high
      ? (area<number>()
          .defined((i) => isKnown(low[i]) && isKnown(high[i]))
          .x((i) => x(at[i] ?? 0))
          .y0((i) => y(low[i] ?? 0))
          .y1((i) => y(high[i] ?? 0))(at.map((_, i) => i)) ?? "")
      : "";
  return {
    x,
    y,
    run: draw(series.time),
    mean: series.mean ? draw(series.mean) : "",
    band: between(series.p10, series.p90, series.step),
    expected: next ? draw(next.expected, next.step) : "",
    ahead: next ? between(next.low, next.high, next.step) : "",
    others: series.others.map((other) => ({ label: other.label, path: draw(other.time) })),
    xTicks: apart(
      byStep.ticks(8).filter((tick) => Number.isInteger(tick) && tick <= last),
      x,
    ),
    yTicks: y.ticks(4),
  };
}

const NEAREST_PX = 96;

/** Ticks whose labels do not meet. */
function apart(ticks: number[], x: (step: number) => number): number[] {
  const kept: number[] = [];
  for (const tick of ticks) {
    const before = kept.at(-1);
    if (before === undefined || x(tick) - x(before) >= NEAREST_PX) kept.push(tick);
  }
  return kept;
}

/** The same as rows, one per step. */
export function stepRows({ step, time, mean, p10, p90, others, ahead }: StepSeries) {
  const observed = step.map((n, i) => ({
    step: n,
    time: time[i] ?? null,
    mean: mean?.[i] ?? null,
    p10: p10?.[i] ?? null,
    p90: p90?.[i] ?? null,
    others: others.map((other) => other.time[i] ?? null),
    expected: null as number | null,
    low: null as number | null,
    high: null as number | null,
  }));
  const next = ahead?.step.map((n, i) => ({
    step: n,
    time: null,
    mean: null,
    p10: null,
    p90: null,
    others: others.map(() => null),
    expected: ahead.expected[i] ?? null,
    low: ahead.low[i] ?? null,
    high: ahead.high[i] ?? null,
  }));
  return [...observed, ...(next ?? [])];
}

export interface RunVerdict {
  steps: number;
  mean: number;
  usual: number | null;
  /** Summed time over summed usual time, of the steps where both are known. */
  factor: number | null;
  /** First step of the last stretch of at least `RUN` steps above the range of earlier runs. */
  slowFrom: number | null;
  slowFactor: number | null;
}

/** The newest step against the same step of earlier runs; null if either is unknown. */
export function paceOf(series: StepSeries): { now: number; usual: number; slow: boolean } | null {
  const at = series.time.findLastIndex(isKnown);
  const [now, usual, limit] = [series.time[at], series.mean?.[at], series.p90?.[at]];
  if (!isKnown(now) || !isKnown(usual)) return null;
  return { now, usual, slow: isKnown(limit) && now > limit };
}

const LONGEST_STEPS = 3;
const SILENT_MS = 60_000;

/** Whether a run that goes on has had no step for so long that its newest is not of now. */
export function isSilent(series: StepSeries, time: Pick<StepClock, "end" | "until"> | undefined): boolean {
  const last = series.step.at(-1);
  if (!time || last === undefined) return false;
  const longest = 1000 * (max(series.time.filter(isKnown)) ?? 0);
  return time.until - time.end(last) > Math.max(SILENT_MS, LONGEST_STEPS * longest);
}

const RUN = 5;

export function runVerdict(series: StepSeries): RunVerdict {
  const times = series.time.filter(isKnown);
  const mean = times.reduce((a, b) => a + b, 0) / Math.max(1, times.length);
  let taken = 0,
    usual = 0,
    both = 0;
  let slowStart = -1,
    streak = 0,
    calm = 0;
  series.time.forEach((time, i) => {
    const expected = series.mean?.[i];
    if (isKnown(time) && isKnown(expected)) {
      taken += time;
      usual += expected;
      both++;
    }
    const limit = series.p90?.[i];
    if (isKnown(time) && isKnown(limit) && time > limit) {
      streak++;
      calm = 0;
      if (streak === RUN && slowStart < 0) slowStart = i - RUN + 1;
    } else {
      streak = 0;
      if (++calm >= RUN) slowStart = -1;
    }
  });
  let slowTaken = 0,
    slowUsual = 0;
  if (slowStart >= 0) {
    for (let i = slowStart; i < series.time.length; i++) {
      const [time, expected] = [series.time[i], series.mean?.[i]];
      if (isKnown(time) && isKnown(expected)) {
        slowTaken += time;
        slowUsual += expected;
      }
    }
  }
  return {
    steps: times.length,
    mean,
    usual: both ? usual / both : null,
    factor: both ? taken / usual : null,
    slowFrom: slowStart >= 0 ? (series.step[slowStart] ?? null) : null,
    slowFactor: slowUsual > 0 ? slowTaken / slowUsual : null,
  };
}
