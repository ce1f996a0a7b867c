import { text, wholeNumber } from "../../lib/search";

export interface JobSearch {
  run?: number;
  compare?: string;
  view?: string;
}

export function jobSearch(raw: Record<string, unknown>): JobSearch {
  const all: JobSearch = { run: wholeNumber(raw.run), compare: text(raw.compare), view: text(raw.view) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
