/** What roles, scopes and states of accounts and tokens are called here, and what follows from them. */
import type { Account, Session, Token } from "../../api/people";
import { duration } from "../../lib/format";
import { parseTime } from "../../lib/time";

export const ROLES: Record<string, string> = {
  viewer: "reads, with pseudonyms",
  user: "reads, starts tasks; sees own jobs by name",
  operator: "sees names, changes rules and silences",
  admin: "manages people and reads the audit log",
  service: "a program; uses only tokens",
};

export const SCOPES: Record<string, string> = {
  read: "read data",
  names: "see names",
  advice: "ask for advice",
  tasks: "start and cancel tasks",
  runs: "report runs",
  operate: "change rules and silences",
  admin: "manage people",
};

const SCOPES_OF: Record<string, string[]> = {
  viewer: ["read"],
  user: ["read", "advice", "tasks", "runs"],
  operator: ["read", "names", "advice", "tasks", "runs", "operate"],
  admin: Object.keys(SCOPES),
  service: ["read", "names", "advice", "tasks", "runs", "operate"],
};

/** What an account of a role can hand to a token; the server has the last word. */
export const scopesOf = (role: string): string[] => SCOPES_OF[role] ?? [];

export type TokenState = "valid" | "revoked" | "expired";

export function stateOf(token: Token, now: number): TokenState {
  if (token.revoked !== null) return "revoked";
  return (parseTime(token.expires) ?? 0) <= now ? "expired" : "valid";
}

export function tokenText(token: Token, now: number): string {
  const state = stateOf(token, now);
  return state === "valid" ? `${duration(((parseTime(token.expires) ?? now) - now) / 1000)} left` : state;
}

/** How an account proves who it is. */
export function loginOf(account: Account): string {
  if (account.disabled) return "disabled";
  if (account.role === "service") return "tokens";
  if (account.issuer !== null) return account.issuer;
  return account.password ? "password" : "none yet";
}

/** What a session means for what the reader sees and may do, in one sentence. */
export function standing(session: Session): string {
  const names = session.pseudonyms ? "Other people are shown as pseudonyms." : "You see all names.";
  if (session.role == null) return "This site requires a login.";
  if (session.user == null)
    return `You are not signed in; anyone who can reach this page has the role ${session.role}. ${names}`;
  return `Signed in as ${session.user}, ${session.role}. ${names}`;
}
