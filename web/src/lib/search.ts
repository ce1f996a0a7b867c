/** The address bar as flat text: every value a plain string, so that addresses stay short and can be typed.

The router lays what a page's `...Search` returns over what was typed: a value that is not understood must stand there as undefined, for a key that is
left out would let the typed text through. */
import { isoTime, parseTime } from "./time";

export type FlatSearch = Record<string, string>;

export function parseSearch(text: string): FlatSearch {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(search))
    if (value !== undefined && value !== null && value !== "") parameters.set(key, String(value));
  const query = parameters.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return query ? `?${query}` : "";
}

export const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

export const oneOf = <T extends string>(value: unknown, allowed: readonly T[]): T | undefined =>
  typeof value === "string" && (allowed as readonly string[]).includes(value) ? (value as T) : undefined;

/** A time, written as this page writes times. */
export function instant(value: unknown): string | undefined {
  const ms = parseTime(text(value));
  return ms === null ? undefined : isoTime(ms);
}

export function wholeNumber(value: unknown): number | undefined {
  const n =
    typeof value === "number" ? value : typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  return Number.isInteger(n) && n >= 0 ? n : undefined;
}
