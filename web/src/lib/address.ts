/** The address bar: flat text, parsers of its values, and errors for values that a page cannot show. */
import { isoTime, parseTime } from "./time";

// The address bar as flat text: every value a plain string, so that addresses stay short and can be typed.
//
// The router lays what a page's `...Search` returns over what was typed: a value that is not understood must stand there as undefined, for a key that is
// left out would let the typed text through.

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

/** The page cannot be shown; the message says why, and `keys` are the parameters that must go. */
export class AddressError extends Error {
  constructor(
    message: string,
    readonly keys: readonly string[],
  ) {
    super(message);
  }
}

/** Parameters of every page: the frame of a portal, and the display on a wall. */
const EVERYWHERE = new Set(["embed", "wall"]);
const PAIRS = [
  ["from", "to"],
  ["cfrom", "cto"],
  ["afrom", "ato"],
] as const;
const TIMES = new Set<string>(["at", ...PAIRS.flat()]);
/** A clock of the data, or of another reader, may be ahead of this one by so much. */
const AHEAD_MS = 300_000;

const filled = (value: unknown): value is string | number => value !== undefined && value !== null && value !== "";

/** Why a page cannot show what was typed, given what it understood of that; null: it can. */
export function addressError(raw: Record<string, unknown>, understood: object, now: number): AddressError | null {
  const wrong: [key: string, reason: string][] = [];
  const times = new Map(Object.keys(raw).map((key) => [key, TIMES.has(key) ? parseTime(String(raw[key])) : null]));
  for (const [key, value] of Object.entries(raw)) {
    if (EVERYWHERE.has(key) || !filled(value)) continue;
    const at = times.get(key) ?? null;
    if (!(key in understood)) wrong.push([key, `This page has no parameter "${key}".`]);
    else if (TIMES.has(key) && at === null)
      wrong.push([key, `"${value}" is not a time: ${key} needs one such as 2026-11-29T14:05:00Z.`]);
    else if ((key === "at" || key === "from") && at !== null && at > now + AHEAD_MS)
      wrong.push([key, `${key} (${String(value)}) is in the future, so there are no data yet.`]);
    else if (!TIMES.has(key) && (understood as Record<string, unknown>)[key] === undefined)
      wrong.push([key, `"${value}" is not a valid ${key}.`]);
  }
  for (const [from, to] of PAIRS) {
    const [begin, end] = [times.get(from) ?? null, times.get(to) ?? null];
    if (begin !== null && end !== null && end <= begin)
      wrong.push([to, `The window ends (${to}) before it begins (${from}).`], [from, ""]);
    else if ((begin ?? end) !== null && !filled((understood as Record<string, unknown>)[begin === null ? to : from]))
      wrong.push([begin === null ? to : from, `A window needs both ${from} and ${to}.`]);
  }
  if (!wrong.length) return null;
  const reasons = wrong.map(([, reason]) => reason).filter(Boolean);
  return new AddressError(
    reasons.join(" "),
    wrong.map(([key]) => key),
  );
}

/** A page's own reader of its address, which refuses what it does not understand. */
export const checked =
  <S extends object>(read: (raw: Record<string, unknown>) => S) =>
  (raw: Record<string, unknown>): S => {
    const understood = read(raw);
    const error = addressError(raw, understood, Date.now());
    if (error) throw error;
    return understood;
  };
