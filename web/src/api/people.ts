/** Accounts, tokens and the audit log: what is asked for and changed about people. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { getJson, postJson, remove } from "./client";
import * as shapes from "./peopleShapes";

const PACE_MS = 60_000;

export const accountsQuery = () =>
  queryOptions({
    queryKey: ["people", "accounts"],
    queryFn: ({ signal }) => getJson(shapes.accountsShape, "/users", {}, signal),
    refetchInterval: PACE_MS,
  });

export const tokensQuery = () =>
  queryOptions({
    queryKey: ["people", "tokens"],
    queryFn: ({ signal }) => getJson(shapes.tokensShape, "/tokens", {}, signal),
    refetchInterval: PACE_MS,
  });

export const auditQuery = (actor: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["people", "audit", actor ?? ""],
    queryFn: ({ pageParam, signal }) =>
      getJson(shapes.auditListShape, "/audit", { actor, limit: 200, cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });

export const addAccount = (account: { name: string; role: string; password?: string }) =>
  postJson(shapes.accountsShape, "/users", account);
export const changeAccount = (name: string, change: { role?: string; disabled?: boolean; password?: string }) =>
  postJson(shapes.accountsShape, `/users/${encodeURIComponent(name)}`, change, "PATCH");
export const addToken = (token: { label: string; scopes: string[]; days: number; account?: string }) =>
  postJson(shapes.createdTokenShape, "/tokens", token);
export const revokeToken = (id: number) => remove(`/tokens/${id}`);
