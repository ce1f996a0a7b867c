import { oneOf, text, wholeNumber } from "../../lib/search";

export interface LabSearch {
  task?: number;
  view?: "noise";
  /** A replay to be asked for: machine, end of its window, job. */
  replay?: "on";
  fabric?: string;
  at?: string;
  job?: string;
  /** Seconds of the window that ends at `at`. */
  window?: number;
}

export function labSearch(raw: Record<string, unknown>): LabSearch {
  const all: LabSearch = {
    task: wholeNumber(raw.task),
    view: oneOf(raw.view, ["noise"]),
    replay: oneOf(raw.replay, ["on"]),
    fabric: text(raw.fabric),
    at: text(raw.at),
    job: text(raw.job),
    window: wholeNumber(raw.window),
  };
  return all;
}
