import { oneOf, text, wholeNumber } from "../../lib/search";

export interface BlameSearch {
  exe?: string;
  nodes?: number;
  by?: "application";
  /** Place in the ranking of whom the runs are shown. */
  who?: number;
  q?: string;
  /** What "found in several sets" means. */
  found?: "paper";
  /** Of the names found in several sets, the one whose evidence is shown. */
  name?: string;
  sort?: string;
}

export function blameSearch(raw: Record<string, unknown>): BlameSearch {
  const all: BlameSearch = {
    exe: text(raw.exe),
    nodes: wholeNumber(raw.nodes),
    by: oneOf(raw.by, ["application"]),
    who: wholeNumber(raw.who),
    q: text(raw.q),
    found: oneOf(raw.found, ["paper"]),
    name: text(raw.name),
    sort: text(raw.sort),
  };
  return all;
}
