/** What stands where data would: nothing yet, or a failure with what the reader can do. */
import type { ReactNode } from "react";
import { ApiError } from "../api/client";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return <div className="notice"><h2>{title}</h2>{children && <p>{children}</p>}</div>;
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof ApiError ? error.problem : null;
  const detail = problem?.detail ?? (error instanceof Error ? error.message : String(error));
  return (
    <div className="notice" role="alert">
      <h2>{problem?.title ?? "This page failed"}</h2>
      <p>{detail}</p>
      {problem?.advice && <p>{problem.advice}</p>}
      {problem?.status === 401 && <a className="button primary" href={`/login?to=${encodeURIComponent(location.pathname + location.search)}`}>Sign in</a>}
      {retry && <button className="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Waiting({ what }: { what: string }) {
  return <div className="notice" role="status"><p className="muted">Loading {what}…</p></div>;
}
