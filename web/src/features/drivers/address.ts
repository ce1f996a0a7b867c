import { oneOf, text, wholeNumber } from "../../lib/search";

export interface DriversSearch {
  inputs?: "deltas";
  show?: "rank";
  counter?: string;
  /** Estimate of the chosen set. */
  set?: number;
}

export function driversSearch(raw: Record<string, unknown>): DriversSearch {
  const all: DriversSearch = {
    inputs: oneOf(raw.inputs, ["deltas"]),
    show: oneOf(raw.show, ["rank"]),
    counter: text(raw.counter),
    set: wholeNumber(raw.set),
  };
  return all;
}
