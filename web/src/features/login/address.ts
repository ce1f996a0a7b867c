import type { Session } from "../../api/session";

/** Where a reader came from, to be led back there; a place of this page only. */
export interface LoginSearch {
  to?: string;
}

const PLACE = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

export function loginSearch(search: Record<string, unknown>): LoginSearch {
  const { to } = search;
  // Undefined by name: the router lays what is returned over what was typed, and a key left out would let the typed text through.
  return { to: typeof to === "string" && PLACE.test(to) && !to.startsWith("/login") ? to : undefined };
}

/** What a session means for what the reader sees and may do, in one sentence. */
export function standing(session: Session): string {
  const names = session.pseudonyms ? "Other people are shown as pseudonyms." : "You see all names.";
  if (session.role == null) return "This site requires a login.";
  if (session.user == null)
    return `You are not signed in; anyone who can reach this page has the role ${session.role}. ${names}`;
  return `Signed in as ${session.user}, ${session.role}. ${names}`;
}
