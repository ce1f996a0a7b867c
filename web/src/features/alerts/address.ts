import { oneOf, text, wholeNumber } from "../../lib/search";

export type AlertsView = "alerts" | "rules" | "silences" | "contacts";

export interface AlertsSearch {
  view?: "rules" | "silences" | "contacts";
  /** The alert, or the rule, that is shown beside the list. */
  alert?: number;
  rule?: string;
  /** The dry run whose result is shown. */
  task?: number;
}

export function alertsSearch(raw: Record<string, unknown>): AlertsSearch {
  const all: AlertsSearch = {
    view: oneOf(raw.view, ["rules", "silences", "contacts"]),
    alert: wholeNumber(raw.alert),
    rule: text(raw.rule),
    task: wholeNumber(raw.task),
  };
  return all;
}
