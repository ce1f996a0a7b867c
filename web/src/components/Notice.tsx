/** What stands where data would: nothing yet, or a failure with what the reader can do. */
import type { ReactNode } from "react";
import { ApiError } from "../api/client";

/** `page`: the notice is all that the page says, so its title is the page's. */
export function Empty({ title, page = false, children }: { title: string; page?: boolean; children?: ReactNode }) {
  const Title = page ? "h1" : "h2";
  return <div className="notice"><Title>{title}</Title>{children && <p>{children}</p>}</div>;
}

export function Failure({ error, retry, page = false }: { error: unknown; retry?: () => void; page?: boolean }) {
  const Title = page ? "h1" : "h2";
  const problem = error instanceof ApiError ? error.problem : null;
  const detail = problem?.detail ?? (error instanceof Error ? error.message : String(error));
  return (
    <div className="notice" role="alert">
      <Title>{problem?.title ?? "This page failed"}</Title>
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
