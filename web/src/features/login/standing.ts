import type { Session } from "../../api/session";

/** What a session means for what the reader sees and may do, in one sentence. */
export function standing(session: Session): string {
  const names = session.pseudonyms ? "Other people are shown as pseudonyms." : "You see all names.";
  if (session.role == null) return "This site requires a login.";
  if (session.user == null)
    return `You are not signed in; anyone who can reach this page has the role ${session.role}. ${names}`;
  return `Signed in as ${session.user}, ${session.role}. ${names}`;
}
