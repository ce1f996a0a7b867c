import { oneOf, text, wholeNumber } from "../../lib/search";

export interface BlameSearch {
  exe?: string;
  nodes?: number;
  by?: "application";
  /** Place in the ranking of whom the runs are shown. */
  who?: number;
  q?: string;
  sort?: string;
}

export function blameSearch(raw: Record<string, unknown>): BlameSearch {
  const all: BlameSearch = {
    exe: text(raw.exe),
    nodes: wholeNumber(raw.nodes),
    by: oneOf(raw.by, ["application"]),
    who: wholeNumber(raw.who),
    q: text(raw.q),
    sort: text(raw.sort),
  };
  return all;
}
