/** Recommendations in words. Pure. */
import type { Gain, Recommendation } from "../../api/recommendations";
import type { Interval } from "../../charts/intervals";
import { bytes, count, duration, percent, UNKNOWN } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";

const times = (factor: number) => `×${factor.toFixed(2)}`;

export const gainInterval = ({ factor, low, high }: Gain): Interval => ({ middle: factor, low, high });

/** "×1.42 (1.35–1.49, 90 %)": time before over time after. */
export function gainText(gain: Gain | null): string {
  if (!gain) return UNKNOWN;
  if (gain.low === null || gain.high === null)
    return `${times(gain.factor)} (one ${gain.runs === 1 ? "pair of runs" : "figure"}, no interval)`;
  return `${times(gain.factor)} (${gain.low.toFixed(2)}–${gain.high.toFixed(2)}, ${percent(gain.level)})`;
}

/** The interval alone, for below the figure itself; what stands in its place if there is none. */
export function intervalText(gain: Gain | null): string {
  if (!gain) return "nothing was compared";
  if (gain.low === null || gain.high === null)
    return `${gain.runs === 1 ? "one pair of runs" : "one figure"}, no interval`;
  return `${times(gain.low)} to ${times(gain.high)}, ${percent(gain.level)}`;
}

/** A reason's figure with its unit. */
export function valueText(value: number, unit: string | null): string {
  if (unit === "bytes") return bytes(value);
  const figure = Math.abs(value) < 1000 ? String(Number(value.toPrecision(3))) : count(value);
  return unit ? `${figure} ${unit}` : figure;
}

/** What the gain is worth in a sentence; an interval that holds 1 is no gain. */
export function gainSaid(gain: Gain | null): string {
  if (!gain) return "Time saved: not measured";
  if (gain.low !== null && gain.high !== null && gain.low <= 1 && gain.high >= 1) return "No gain beyond chance";
  if (gain.factor >= 1.005) return `${times(gain.factor)} as fast`;
  if (gain.factor <= 0.995) return `Slower: ${times(gain.factor)}`;
  return "As fast as before";
}

/** Times as the rest of the page writes them. */
export function parameterText(name: string, value: unknown): string {
  if (value === 0 && /^[sv]ls$/.test(name)) return "unchanged";
  const at = typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) ? parseTime(value) : null;
  return at === null ? String(value) : `${moment(at, 0)} ${ZONE}`;
}

const KINDS: Record<string, string> = { routes: "Routes", routing_mode: "Routing mode", placement: "Placement" };
export const kindText = (kind: string): string => KINDS[kind] ?? kind;

export const about = (one: Recommendation): string =>
  [one.fabric, one.application, one.job_id === null ? null : `job ${one.job_id}`, one.user].filter(Boolean).join(" · ");

/** Times of simulations are often milliseconds. */
export function timeText(seconds: number | null): string {
  if (seconds === null) return UNKNOWN;
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(1)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toPrecision(3)} ms` : duration(seconds);
}
