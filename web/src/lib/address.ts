/** The address bar: flat text, one reader for the parameters of every page, and errors for values that a page cannot show. */
import { isoTime, parseTime } from "./time";

// The address bar as flat text: every value a plain string, so that addresses stay short and can be typed.
//
// The router lays what a page's reader returns over what was typed: a value that is not understood must be there as undefined, for a key that is left out
// would let the typed text through.

export type FlatSearch = Record<string, string>;

/** Between the different values of one parameter; no page takes them. */
const REPEATED = "\n";

export function parseSearch(text: string): FlatSearch {
  const parameters = new URLSearchParams(text);
  const values = (key: string) => [...new Set(parameters.getAll(key))].join(REPEATED);
  return Object.fromEntries([...parameters.keys()].map((key) => [key, values(key)]));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(search))
    if (value !== undefined && value !== null && value !== "") parameters.set(key, String(value));
  const query = parameters.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return query ? `?${query}` : "";
}

// Parsers: the value of one parameter, or undefined if it is not valid.

export const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

export const oneOf =
  <const T extends string>(...allowed: readonly T[]) =>
  (value: unknown): T | undefined =>
    typeof value === "string" && (allowed as readonly string[]).includes(value) ? (value as T) : undefined;

export const matching =
  (pattern: RegExp) =>
  (value: unknown): string | undefined =>
    pattern.test(text(value) ?? "") ? text(value) : undefined;

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

export const wholeBetween = (least: number, most: number) => (value: unknown) => {
  const n = wholeNumber(value);
  return n !== undefined && n >= least && n <= most ? n : undefined;
};

type Raw = Record<string, unknown>;
type Fields = Record<string, (value: unknown) => unknown>;
/** By parameter, another one that it requires: `view=links`, `view=table|links`, any `exe`, or no `view=`. */
type Needs = Partial<Record<string, string>>;
type Parsed<F extends Fields> = { [K in keyof F]?: NonNullable<ReturnType<F[K]>> };

export interface Reader<S extends object> {
  (raw: Raw): S;
  needs: Needs;
}

/** The parameters of a page with their parsers, and what some of them require. */
export function readerOf<F extends Fields>(fields: F, needs: Partial<Record<keyof F, string>> = {}): Reader<Parsed<F>> {
  const read = (raw: Raw) =>
    Object.fromEntries(Object.entries(fields).map(([key, parse]) => [key, parse(raw[key])])) as Parsed<F>;
  return Object.assign(read, { needs: needs as Needs });
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

/** The reason for which an address was refused, whether its reader or the page's data refused it. */
export function refusalOf(error: unknown): AddressError | null {
  if (error instanceof AddressError) return error;
  return error instanceof Error && error.cause instanceof AddressError ? error.cause : null;
}

/**
 * Refuse the address of a page that is drawn if its data do not hold what a parameter names: no other data take their place.
 * The page stays refused until its address changes, so data that are being fetched anew refuse nothing.
 */
export function refuseUnless(holds: boolean, message: string, ...keys: string[]): void {
  if (!holds) throw new AddressError(message, keys);
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

/** Why a parameter has no meaning next to the others; null: it has one. */
function missingNeed(key: string, need: string, raw: Raw): string | null {
  const [other = "", values] = need.split("=");
  const value = raw[other];
  if (values === undefined) return filled(value) ? null : `${key} requires ${other}.`;
  if (values === "") return filled(value) ? `${key} cannot be combined with ${other}=${value}.` : null;
  const allowed = values.split("|");
  return allowed.includes(String(value))
    ? null
    : `${key} requires ${allowed.map((one) => `${other}=${one}`).join(" or ")}.`;
}

/** Why a page cannot show what was typed, given what it understood of that; null: it can. */
export function addressError(raw: Raw, read: object, now: number, needs: Needs = {}): AddressError | null {
  const understood = read as Record<string, unknown>;
  const wrong: [key: string, reason: string][] = [];
  const times = new Map(Object.keys(raw).map((key) => [key, TIMES.has(key) ? parseTime(String(raw[key])) : null]));
  for (const [key, value] of Object.entries(raw)) {
    if (EVERYWHERE.has(key) || !filled(value)) continue;
    const at = times.get(key) ?? null;
    const need = needs[key];
    const missing = need === undefined ? null : missingNeed(key, need, raw);
    if (!(key in understood)) wrong.push([key, `This page has no parameter "${key}".`]);
    else if (String(value).includes(REPEATED)) wrong.push([key, `${key} has several values, and this page takes one.`]);
    else if (TIMES.has(key) && at === null)
      wrong.push([key, `"${value}" is not a time: ${key} needs one such as 2026-11-29T14:05:00Z.`]);
    else if ((key === "at" || key === "from") && at !== null && at > now + AHEAD_MS)
      wrong.push([key, `${key} (${String(value)}) is in the future, so there are no data yet.`]);
    else if (!TIMES.has(key) && understood[key] === undefined) wrong.push([key, `"${value}" is not a valid ${key}.`]);
    else if (missing !== null) wrong.push([key, missing]);
  }
  for (const [from, to] of PAIRS) {
    const [begin, end] = [times.get(from) ?? null, times.get(to) ?? null];
    if (begin !== null && end !== null && end <= begin)
      wrong.push([to, `The window ends (${to}) before it begins (${from}).`], [from, ""]);
    else if ((begin ?? end) !== null && !filled(understood[begin === null ? to : from]))
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
  <S extends object>(read: Reader<S>) =>
  (raw: Raw): S => {
    const understood = read(raw);
    const error = addressError(raw, understood, Date.now(), read.needs);
    if (error) throw error;
    return understood;
  };
