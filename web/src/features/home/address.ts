import { instant, text } from "../../lib/search";

export interface HomeSearch {
  machine?: string;
  /** The moment that the page speaks of; without one it is live. */
  at?: string;
}

export function homeSearch(raw: Record<string, unknown>): HomeSearch {
  const all: HomeSearch = { machine: text(raw.machine), at: instant(raw.at) };
  return all;
}
