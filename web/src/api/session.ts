/** Who the reader is to this site; logging in and out. */
import { queryOptions } from "@tanstack/react-query";
import * as v from "valibot";
import { getJson, postJson, protectChanges, remove } from "./client";
import { text } from "./shapes";

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
