/** What the address of a fabric page holds: all that a reader chose, so that a link shows the same picture. */
import { oneOf, text, wholeNumber } from "../../lib/address";
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

export interface FabricSearch {
  view?: View;
  class?: (typeof CLASSES)[number];
  diff?: "on";
  job?: string;
  router?: number;
  /** Groups of a pair, `3-7`, and a link: what the view of links is narrowed to. */
  pair?: string;
  link?: number;
  from?: string;
  to?: string;
  /** Of an alert's address: the end of a window of five minutes, which `from` and `to` then name. */
  at?: undefined;
  cfrom?: string;
  cto?: string;
  against?: Against;
  axis?: (typeof AXES)[number];
  span?: Span;
  /** Ends of a zoomed time axis. */
  afrom?: string;
  ato?: string;
  /** Group of leaves of a tree that is drawn by itself. */
  slice?: number;
  rows?: Rows;
  /** Order of that table. */
  sort?: string;
  /** What colours a tree, where packets were sampled: counters, those packets, or two pictures beside each other. */
  measure?: (typeof MEASURES)[number];
  /** Job, message tag and phase of the sampled packets. */
  packets?: string;
  tag?: string;
  phase?: string;
}

const PAIR = /^\d+-\d+$/;

/** Length of the window that an address with `at` alone (an alert's) means: it ends there. */
const AT_MS = 300_000;

function windowAt(at: unknown): TimeWindow | undefined {
  const to = parseTime(text(at));
  return to === null ? undefined : { from: to - AT_MS, to };
}

export function fabricSearch(raw: Record<string, unknown>): FabricSearch {
  const window = windowFrom(raw.from, raw.to) ?? windowAt(raw.at);
  const comparison = windowFrom(raw.cfrom, raw.cto);
  const zoom = windowFrom(raw.afrom, raw.ato);
  const all: FabricSearch = {
    view: oneOf(raw.view, VIEWS),
    class: oneOf(raw.class, CLASSES),
    diff: oneOf(raw.diff, ["on"]),
    job: text(raw.job),
    router: wholeNumber(raw.router),
    pair: PAIR.test(text(raw.pair) ?? "") ? text(raw.pair) : undefined,
    link: wholeNumber(raw.link),
    from: window && isoTime(window.from),
    to: window && isoTime(window.to),
    at: undefined,
    cfrom: comparison && isoTime(comparison.from),
    cto: comparison && isoTime(comparison.to),
    against: oneOf(raw.against, AGAINST),
    axis: oneOf(raw.axis, AXES),
    span: oneOf(raw.span, SPANS),
    afrom: zoom && isoTime(zoom.from),
    ato: zoom && isoTime(zoom.to),
    slice: wholeNumber(raw.slice),
    rows: oneOf(raw.rows, ROWS),
    sort: text(raw.sort),
    measure: oneOf(raw.measure, MEASURES),
    packets: text(raw.packets),
    tag: text(raw.tag),
    phase: text(raw.phase),
  };
  return all;
}

/** A window that the address names whole and in order, or none. */
export function windowFrom(from: unknown, to: unknown): TimeWindow | undefined {
  const a = parseTime(text(from));
  const b = parseTime(text(to));
  return a !== null && b !== null && b > a ? { from: a, to: b } : undefined;
}
