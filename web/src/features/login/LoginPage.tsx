/** Signing in with the site's own login or a local account, and out again. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { logIn, logOut, PROVIDER_LOGOUT, providerHref, sessionQuery } from "../../api/people";
import { Failure, Waiting } from "../../components/Notice";
import { standing } from "../admin/words";
import "./login.css";

export function LoginPage() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { to } = useSearch({ from: "/login" });
  const session = useQuery(sessionQuery());
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  // Whatever was read is another with other rights.
  const changed = () => {
    setPassword("");
    void queries.resetQueries();
  };
  const entered = () => {
    changed();
    if (to) void navigate({ href: to });
  };
  const enter = useMutation({ mutationFn: logIn, onSuccess: entered });
  const leave = useMutation({ mutationFn: logOut, onSuccess: changed });
  if (session.isPending) return <Waiting what="your session" />;
  if (session.error) return <Failure page error={session.error} retry={() => void session.refetch()} />;
  const { oidc, vouched } = session.data;
  return (
    <section className="card login" aria-label="Sign in">
      <h1>{session.data.user ? "You are signed in" : "Sign in"}</h1>
      <p className="muted">{standing(session.data)}</p>
      {session.data.user ? (
        <div className="login-ways">
          <button className="button" onClick={() => leave.mutate()} disabled={leave.isPending}>
            Sign out
          </button>
          {vouched && oidc && (
            <button
              className="button"
              onClick={() => leave.mutate(undefined, { onSuccess: () => location.assign(PROVIDER_LOGOUT) })}
              disabled={leave.isPending}
            >
              Sign out of {oidc}, too
            </button>
          )}
        </div>
      ) : (
        <>
          {oidc && (
            <>
              <a className="button primary" href={providerHref(to ?? "/")}>
                Sign in with {oidc}
              </a>
              <p className="login-or muted">or with an account of this site</p>
            </>
          )}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              enter.mutate({ name, password });
            }}
          >
            <label>
              Name
              <input
                className="field"
                value={name}
                onChange={(event) => setName(event.target.value)}
                autoComplete="username"
                required
                maxLength={200}
              />
            </label>
            <label>
              Password
              <input
                className="field"
                type="password"
                value={password}
                onChange={(event) => setPassword(event.target.value)}
                autoComplete="current-password"
                required
                maxLength={1024}
              />
            </label>
            <button
              type="submit"
              className={oidc ? "button" : "button primary"}
              disabled={enter.isPending || !name || !password}
            >
              Sign in
            </button>
          </form>
        </>
      )}
      {(enter.error ?? leave.error) && (
        <p className="alarm" role="alert">
          {(enter.error ?? leave.error)?.message}
        </p>
      )}
    </section>
  );
}
