/** Accounts, tokens, the audit log and the reader's session: shapes, queries and changes. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson, protectChanges, remove } from "./client";
import { figure, pageOf, text } from "./shapes";

// What the API answers about people: accounts, tokens, the audit log (docs/contracts/api.md).

const accountShape = v.object({
  name: v.string(),
  role: v.string(),
  disabled: v.boolean(),
  password: v.boolean(),
  issuer: text,
  created: v.string(),
  seen: text,
  tokens: v.number(),
});
export type Account = v.InferOutput<typeof accountShape>;
export const accountsShape = v.object({ items: v.array(accountShape) });

const tokenShape = v.object({
  token_id: v.number(),
  account: v.string(),
  role: v.string(),
  label: v.string(),
  scopes: v.array(v.string()),
  created: v.string(),
  expires: v.string(),
  revoked: text,
  used: text,
});
export type Token = v.InferOutput<typeof tokenShape>;
export const tokensShape = v.object({ items: v.array(tokenShape) });
export const createdTokenShape = v.object({ token_id: v.number(), secret: v.string(), expires: v.string() });

const auditShape = v.object({
  audit_id: v.number(),
  at: v.string(),
  actor: v.string(),
  role: text,
  via: v.string(),
  action: v.string(),
  target: text,
  status: figure,
  address: text,
  request_id: text,
  details: v.record(v.string(), v.unknown()),
});
export type AuditEntry = v.InferOutput<typeof auditShape>;
export const auditListShape = pageOf(auditShape);

// Who the reader is to this site; logging in and out.

export const sessionShape = v.object({
  user: text,
  role: text,
  scopes: v.array(v.string()),
  via: text,
  pseudonyms: v.boolean(),
  csrf: text,
  oidc: text,
  vouched: v.boolean(),
});
export type Session = v.InferOutput<typeof sessionShape>;

function held(session: Session): Session {
  protectChanges(session.csrf);
  return session;
}

export const sessionQuery = () =>
  queryOptions({
    queryKey: ["session"],
    queryFn: async ({ signal }) => held(await getJson(sessionShape, "/session", {}, signal)),
    staleTime: 60_000,
    retry: false,
  });

export const logIn = async (login: { name: string; password: string }) =>
  held(await postJson(sessionShape, "/session", login));

/** Where a browser goes to sign in with the site's own login; it comes back to `to`. */
export const providerHref = (to: string) => `/api/v1/session/oidc?to=${encodeURIComponent(to)}`;
export const PROVIDER_LOGOUT = "/api/v1/session/oidc/logout";

export async function logOut(): Promise<void> {
  await remove("/session");
  protectChanges(null);
}

const PACE_MS = 60_000;

export const accountsQuery = () =>
  queryOptions({
    queryKey: ["people", "accounts"],
    queryFn: ({ signal }) => getJson(accountsShape, "/users", {}, signal),
    refetchInterval: PACE_MS,
  });

export const tokensQuery = () =>
  queryOptions({
    queryKey: ["people", "tokens"],
    queryFn: ({ signal }) => getJson(tokensShape, "/tokens", {}, signal),
    refetchInterval: PACE_MS,
  });

export const auditQuery = (actor: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["people", "audit", actor ?? ""],
    queryFn: ({ pageParam, signal }) =>
      getJson(auditListShape, "/audit", { actor, limit: 200, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

export const addAccount = (account: { name: string; role: string; password?: string }) =>
  postJson(accountsShape, "/users", account);
export const changeAccount = (name: string, change: { role?: string; disabled?: boolean; password?: string }) =>
  postJson(accountsShape, `/users/${encodeURIComponent(name)}`, change, "PATCH");
export const addToken = (token: { label: string; scopes: string[]; days: number; account?: string }) =>
  postJson(createdTokenShape, "/tokens", token);
export const revokeToken = (id: number) => remove(`/tokens/${id}`);
