/** Times are UTC everywhere; the page says so once. Milliseconds inside, RFC 3339 in the address. */

export const ZONE = "UTC";
const pad = (n: number) => String(n).padStart(2, "0");

/** No instant beyond this can be written as a date (ECMA-262, 21.4.1.1). */
const LAST_MS = 8.64e15;

/** Milliseconds of an RFC 3339 time or of seconds since 1970 (nine digits or more: 2030 is not a time); null for anything else. */
export function parseTime(text: string | null | undefined): number | null {
  if (!text) return null;
  const ms = /^\d{9,}(\.\d+)?$/.test(text) ? Number(text) * 1000 : /^\d{4}-\d\d/.test(text) ? Date.parse(text) : NaN;
  return Math.abs(ms) <= LAST_MS ? ms : null;
}

/** RFC 3339 without needless milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** What a `datetime-local` field holds for an instant: UTC, to the second. */
export const inputTime = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

/** Milliseconds of what a `datetime-local` field holds, taken as UTC; null if it is empty or half filled. */
export const parseInputTime = (text: string): number | null => parseTime(text && `${text}Z`);

export function clock(ms: number, seconds = false): string {
  const d = new Date(ms);
  const text = `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}`;
  return seconds ? `${text}:${pad(d.getUTCSeconds())}` : text;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function day(ms: number, withYear = false): string {
  const d = new Date(ms);
  return `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()] ?? ""}${withYear ? ` ${d.getUTCFullYear()}` : ""}`;
}

/** "14:04", or with the day when it is not the day of `reference`. */
export function moment(ms: number, reference: number, seconds = false): string {
  const sameDay = Math.floor(ms / 86_400_000) === Math.floor(reference / 86_400_000);
  if (sameDay) return clock(ms, seconds);
  const sameYear = new Date(ms).getUTCFullYear() === new Date(reference).getUTCFullYear();
  return `${day(ms, !sameYear)} ${clock(ms, seconds)}`;
}

export interface TimeWindow {
  from: number;
  to: number;
}

/** Seconds are shown where an end has some; a text that follows the clock asks for them always, so that its width stays. */
export function intervalText(
  { from, to }: TimeWindow,
  reference: number,
  seconds = from % 60_000 !== 0 || to % 60_000 !== 0,
): string {
  const days = Math.floor(from / 86_400_000) !== Math.floor(to / 86_400_000);
  return `${moment(from, reference, seconds)}–${days ? moment(to, from, seconds) : clock(to, seconds)}`;
}

export const shifted = (window: TimeWindow, by: number): TimeWindow => ({ from: window.from + by, to: window.to + by });

const TICK_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
];

/** Round instants between the ends of a window, at most `most` of them. */
export function timeTicks({ from, to }: TimeWindow, most: number): number[] {
  const span = (to - from) / 1000;
  const step = (TICK_STEPS.find((s) => span / s <= most) ?? Math.ceil(span / most / 604_800) * 604_800) * 1000;
  const ticks: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
  return ticks;
}
