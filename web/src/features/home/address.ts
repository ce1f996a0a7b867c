import { instant, oneOf, text } from "../../lib/search";

export interface HomeSearch {
  machine?: string;
  /** The moment that the page speaks of; without one it is live. */
  at?: string;
  /** The time that costs and coverage are of; an hour where none is named. */
  span?: Span;
}

export const SPANS = ["hour", "today", "week"] as const;
export type Span = (typeof SPANS)[number];

export function homeSearch(raw: Record<string, unknown>): HomeSearch {
  const all: HomeSearch = { machine: text(raw.machine), at: instant(raw.at), span: oneOf(raw.span, SPANS) };
  return all;
}
