/** What the address of a fabric page holds: all that a reader chose, so that a link shows the same picture. */
import { instant, matching, oneOf, readerOf, text, wholeNumber } from "../../lib/address";
import { isoTime, parseTime, type TimeWindow } from "../../lib/time";

export const VIEWS = ["tiles", "ring", "group", "tree", "table", "links"] as const;
export type View = (typeof VIEWS)[number];
export const SPANS = ["15m", "1h", "6h", "24h", "7d", "30d", "1y"] as const;
export type Span = (typeof SPANS)[number];
export const SPAN_MS: Record<Span, number> = {
  "15m": 900_000,
  "1h": 3_600_000,
  "6h": 21_600_000,
  "24h": 86_400_000,
  "7d": 604_800_000,
  "30d": 30 * 86_400_000,
  "1y": 365 * 86_400_000,
};

/** What a window is compared with where no other window was chosen: the one before is the default. */
export const AGAINST = ["hour", "hour-ago", "day-ago", "week-ago"] as const;
export type Against = (typeof AGAINST)[number];
/** The axis along which the planes of a torus are cut. */
export const AXES = ["x", "y", "z"] as const;

/** Link classes of a dragonfly by their colours. */
export const CLASSES = ["green", "black", "blue"] as const;

/** What the table view lists. */
export const ROWS = ["routers", "links", "pairs"] as const;
export type Rows = (typeof ROWS)[number];
export const MEASURES = ["stalls", "packets", "both"] as const;

const parameters = readerOf(
  {
    view: oneOf(...VIEWS),
    class: oneOf(...CLASSES),
    diff: oneOf("on"),
    job: text,
    router: wholeNumber,
    /** Groups of a pair, `3-7`, and a link: what the view of links is narrowed to. */
    pair: matching(/^\d+-\d+$/),
    link: wholeNumber,
    from: instant,
    to: instant,
    /** Of an alert's address: the end of a window of five minutes, which `from` and `to` then name. */
    at: instant,
    cfrom: instant,
    cto: instant,
    against: oneOf(...AGAINST),
    axis: oneOf(...AXES),
    span: oneOf(...SPANS),
    /** Ends of a zoomed time axis. */
    afrom: instant,
    ato: instant,
    /** Group of leaves of a tree that is drawn by itself. */
    slice: wholeNumber,
    rows: oneOf(...ROWS),
    /** Order of a table. */
    sort: text,
    /** What colours a tree, where packets were sampled: counters, those packets, or two pictures next to each other. */
    measure: oneOf(...MEASURES),
    /** Job, message tag and phase of the sampled packets. */
    packets: text,
    tag: text,
    phase: text,
  },
  {
    pair: "view=links",
    link: "view=links",
    rows: "view=table",
    sort: "view=table|links",
    at: "from=",
    to: "at=",
    against: "cfrom=",
  },
);

/** What only one view shows: it goes with that view. */
export const OF_VIEW = { pair: undefined, link: undefined, rows: undefined, sort: undefined };

/** What only one kind of fabric has. */
const OF_KIND: Partial<Record<keyof FabricSearch, string>> = {
  class: "dragonfly",
  pair: "dragonfly",
  axis: "torus",
  slice: "fat_tree",
  measure: "fat_tree",
  packets: "fat_tree",
  tag: "fat_tree",
  phase: "fat_tree",
};
/** What needs counters over time; packets of a tree have a window of their own. */
const OF_TIME = ["diff", "against", "cfrom", "cto", "span", "afrom", "ato"] as const;
const KINDS: Record<string, string> = { dragonfly: "a dragonfly", torus: "a torus", fat_tree: "a tree" };

/** Why a fabric cannot have what its address asks for, with the parameters; null: it can. */
export function unfit(
  fabric: { name: string; kind: string; snapshot: boolean; groups: readonly number[] },
  search: FabricSearch,
): [reason: string, ...keys: string[]] | null {
  for (const [key, kind] of Object.entries(OF_KIND))
    if (search[key as keyof FabricSearch] !== undefined && kind !== fabric.kind)
      return [
        `${key} requires ${KINDS[kind]}, and ${fabric.name} is ${KINDS[fabric.kind] ?? `a ${fabric.kind}`}.`,
        key,
      ];
  const times = [...OF_TIME, ...(fabric.kind === "fat_tree" ? [] : (["from", "to"] as const))];
  if (fabric.snapshot && times.some((key) => search[key] !== undefined))
    return [`${fabric.name} has one sample without a time, so no windows.`, "at", ...times];
  const group = search.pair?.split("-").find((one) => !fabric.groups.includes(Number(one)));
  return group === undefined ? null : [`${fabric.name} has no group ${group}.`, "pair"];
}

/** Length of the window that an address with `at` alone (an alert's) means: it ends there. */
const AT_MS = 300_000;

function windowAt(at: unknown): TimeWindow | undefined {
  const to = parseTime(text(at));
  return to === null ? undefined : { from: to - AT_MS, to };
}

/** All that a reader chose; of each window both ends or none. */
export const fabricSearch = Object.assign(
  (raw: Record<string, unknown>): FabricSearch => {
    const window = (text(raw.from) ?? text(raw.to)) ? windowFrom(raw.from, raw.to) : windowAt(raw.at);
    const comparison = windowFrom(raw.cfrom, raw.cto);
    const zoom = windowFrom(raw.afrom, raw.ato);
    return {
      ...parameters(raw),
      from: window && isoTime(window.from),
      to: window && isoTime(window.to),
      at: undefined,
      cfrom: comparison && isoTime(comparison.from),
      cto: comparison && isoTime(comparison.to),
      afrom: zoom && isoTime(zoom.from),
      ato: zoom && isoTime(zoom.to),
    };
  },
  { needs: parameters.needs },
);
export type FabricSearch = Omit<ReturnType<typeof parameters>, "at"> & { at?: undefined };

/** A window that the address names whole and in order, or none. */
export function windowFrom(from: unknown, to: unknown): TimeWindow | undefined {
  const a = parseTime(text(from));
  const b = parseTime(text(to));
  return a !== null && b !== null && b > a ? { from: a, to: b } : undefined;
}
