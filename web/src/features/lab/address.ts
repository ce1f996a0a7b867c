import { wholeNumber } from "../../lib/search";

export interface LabSearch {
  task?: number;
}

export function labSearch(raw: Record<string, unknown>): LabSearch {
  const task = wholeNumber(raw.task);
  return task === undefined ? {} : { task };
}
