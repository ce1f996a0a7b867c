import { oneOf, text } from "../../lib/search";

export type AdminView = "users" | "tokens" | "audit";

export interface AdminSearch {
  view?: "tokens" | "audit";
  /** Whose entries of the audit log are shown. */
  actor?: string;
}

export function adminSearch(raw: Record<string, unknown>): AdminSearch {
  const all: AdminSearch = { view: oneOf(raw.view, ["tokens", "audit"]), actor: text(raw.actor) };
  return all;
}
