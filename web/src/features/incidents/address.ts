import { STATES, type IncidentFilter } from "../../api/incident";
import { instant, oneOf, text } from "../../lib/search";

export interface IncidentsSearch extends IncidentFilter {
  sort?: string;
}

export function incidentsSearch(raw: Record<string, unknown>): IncidentsSearch {
  const all: IncidentsSearch = {
    fabric: text(raw.fabric),
    state: oneOf(raw.state, STATES),
    job: text(raw.job),
    user: text(raw.user),
    from: instant(raw.from),
    to: instant(raw.to),
    sort: text(raw.sort),
  };
  return all;
}
