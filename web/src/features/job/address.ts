import { instant, text, wholeNumber } from "../../lib/search";

export interface JobSearch {
  /** Where several clusters use the same id; else the newest job of that id. */
  cluster?: string;
  run?: number;
  compare?: string;
  /** The neighbour that is shown on the placement; "none" hides the one that is named. */
  beside?: string;
  /** The moment that the page speaks of; without one the newest of the job's life. */
  at?: string;
}

export function jobSearch(raw: Record<string, unknown>): JobSearch {
  const all: JobSearch = {
    cluster: text(raw.cluster),
    run: wholeNumber(raw.run),
    compare: text(raw.compare),
    beside: text(raw.beside),
    at: instant(raw.at),
  };
  return all;
}
