import { text, wholeNumber } from "../../lib/search";

export interface ForecastSearch {
  exe?: string;
  nodes?: number;
  run?: number;
}

export function forecastSearch(raw: Record<string, unknown>): ForecastSearch {
  const all: ForecastSearch = { exe: text(raw.exe), nodes: wholeNumber(raw.nodes), run: wholeNumber(raw.run) };
  return all;
}
