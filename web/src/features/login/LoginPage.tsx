/** Signing in with a local account, and out again. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { logIn, logOut, sessionQuery } from "../../api/session";
import { Failure, Waiting } from "../../components/Notice";
import { standing } from "./standing";
import "./login.css";

export function LoginPage() {
  const queries = useQueryClient();
  const session = useQuery(sessionQuery());
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  // Whatever was read is another with other rights.
  const changed = () => {
    setPassword("");
    void queries.resetQueries();
  };
  const enter = useMutation({ mutationFn: logIn, onSuccess: changed });
  const leave = useMutation({ mutationFn: logOut, onSuccess: changed });
  if (session.isPending) return <Waiting what="your session" />;
  if (session.error) return <Failure error={session.error} retry={() => void session.refetch()} />;
  return (
    <section className="card login" aria-label="Sign in">
      <h1>{session.data.user ? "You are signed in" : "Sign in"}</h1>
      <p className="muted">{standing(session.data)}</p>
      {session.data.user ? (
        <button className="button" onClick={() => leave.mutate()} disabled={leave.isPending}>Sign out</button>
      ) : (
        <form onSubmit={(event) => { event.preventDefault(); enter.mutate({ name, password }); }}>
          <label>Name<input className="field" value={name} onChange={(event) => setName(event.target.value)} autoComplete="username" required maxLength={200} /></label>
          <label>Password<input className="field" type="password" value={password} onChange={(event) => setPassword(event.target.value)} autoComplete="current-password" required maxLength={1024} /></label>
          <button type="submit" className="button primary" disabled={enter.isPending || !name || !password}>Sign in</button>
        </form>
      )}
      {(enter.error ?? leave.error) && <p className="alarm" role="alert">{(enter.error ?? leave.error)?.message}</p>}
    </section>
  );
}
