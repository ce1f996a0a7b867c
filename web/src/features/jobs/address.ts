import { text } from "../../lib/search";

export interface JobsSearch {
  q?: string;
  user?: string;
  state?: string;
  fabric?: string;
  sort?: string;
}

export function jobsSearch(raw: Record<string, unknown>): JobsSearch {
  const all: JobsSearch = { q: text(raw.q), user: text(raw.user), state: text(raw.state), fabric: text(raw.fabric), sort: text(raw.sort) };
  return all;
}
