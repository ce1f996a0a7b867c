import { oneOf, wholeNumber } from "../../lib/search";

export interface RecommendationsSearch {
  id?: number;
  state?: "recommended" | "refused";
  /** Group of leaves of the plots before and after. */
  slice?: number;
  by?: "group";
}

export function recommendationsSearch(raw: Record<string, unknown>): RecommendationsSearch {
  const all: RecommendationsSearch = {
    id: wholeNumber(raw.id),
    state: oneOf(raw.state, ["recommended", "refused"]),
    slice: wholeNumber(raw.slice),
    by: oneOf(raw.by, ["group"]),
  };
  return all;
}
