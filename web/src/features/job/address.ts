import { text, wholeNumber } from "../../lib/search";

export interface JobSearch {
  run?: number;
  compare?: string;
  /** The neighbour that is shown on the placement. */
  beside?: string;
}

export function jobSearch(raw: Record<string, unknown>): JobSearch {
  const all: JobSearch = { run: wholeNumber(raw.run), compare: text(raw.compare), beside: text(raw.beside) };
  return all;
}
