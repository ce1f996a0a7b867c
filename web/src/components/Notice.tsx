/** What stands where data would: an answer on its way, a failure with what the reader can do, or nothing yet. */
import { Link, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { ApiError } from "../api/client";
import type { Freshness } from "../api/freshness";
import { type AddressError, parseSearch } from "../lib/address";
import { duration } from "../lib/format";
import { clock } from "../lib/time";

/** What stopped, what is still right, and when the next try is. */
export function StaleBanner({ fresh, shown }: { fresh: Freshness; shown: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (fresh.through === null) return null;
  const next = fresh.nextTryAt === null ? null : Math.max(0, Math.ceil((fresh.nextTryAt - now) / 1000));
  return (
    <div className="banner" role="status">
      <strong>Live data stopped at {clock(fresh.through, true)}.</strong>
      <span>
        {shown && `You see ${shown} as it was collected. `}
        {fresh.reason === "connection"
          ? `The connection is lost; ${next ? `next try in ${duration(next)}` : "trying again"}.`
          : "The connection is fine, but no new samples arrive."}
      </span>
      <span className="spacer" />
      <a href="/health">What is affected</a>
    </div>
  );
}

/** In place of a page whose address says what cannot be shown. */
export function Misaddressed({ error: { message, keys } }: { error: AddressError }) {
  const { pathname, searchStr } = useRouterState({ select: (state) => state.location });
  const rest = Object.entries(parseSearch(searchStr)).filter(([key]) => !keys.includes(key));
  return (
    <div className="notice" role="alert">
      <h1>This address is not valid</h1>
      <p>{message}</p>
      <Link className="button" to={pathname} search={Object.fromEntries(rest) as never}>
        Open the page without this part
      </Link>
    </div>
  );
}

/** `page`: the notice is all that the page says, so its title is the page's. */
export function Empty({ title, page = false, children }: { title: string; page?: boolean; children?: ReactNode }) {
  const Title = page ? "h1" : "h2";
  return (
    <div className="notice">
      <Title>{title}</Title>
      {children && <p>{children}</p>}
    </div>
  );
}

/** The login, which comes back to where the reader is. */
export const loginHref = () => `/login?to=${encodeURIComponent(location.pathname + location.search)}`;

const SignIn = ({ plain = false }: { plain?: boolean }) => (
  <a className={plain ? undefined : "button primary"} href={loginHref()}>
    Sign in
  </a>
);

interface FailureProps {
  error: unknown;
  retry?: (() => void) | undefined;
  page?: boolean;
  /** One line, where the place has no room for more. */
  line?: boolean;
}

export function Failure({ error, retry, page = false, line = false }: FailureProps) {
  const Title = page ? "h1" : "h2";
  const problem = error instanceof ApiError ? error.problem : null;
  const title = problem?.title ?? "This page could not be shown";
  const detail = problem?.detail ?? (error instanceof Error ? error.message : String(error));
  const again = retry && (
    <button className={line ? "link" : "button"} onClick={retry}>
      Try again
    </button>
  );
  if (line)
    return (
      <p className="failure-line" role="alert">
        <span className="alarm">{detail || title}</span> {problem?.advice}{" "}
        {problem?.status === 401 ? <SignIn plain /> : again}
      </p>
    );
  return (
    <div className="notice" role="alert">
      <Title>{title}</Title>
      <p>{detail}</p>
      {problem?.advice && <p>{problem.advice}</p>}
      {problem?.status === 401 && <SignIn />}
      {again}
    </div>
  );
}

export function Waiting({ what, line = false }: { what: string; line?: boolean }) {
  return (
    <div className={line ? "waiting-line" : "notice"} role="status">
      <p className="muted">Loading {what}…</p>
      {!line && (
        <div className="skeleton" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
    </div>
  );
}

/** What is needed of a query to tell its state. */
export interface QueryState {
  error: Error | null;
  data: unknown;
  refetch: () => unknown;
}

/** What is known of a query, the same object until its answer changes: a memoised panel is not drawn anew for each step of a fetch. */
export function useQueryState({ error, data, refetch }: QueryState): QueryState {
  return useMemo(() => ({ error, data, refetch }), [error, data, refetch]);
}

/** The first of some queries that was refused, if nothing older can be shown in its stead. */
export const refused = (asked: readonly QueryState[]): QueryState | undefined =>
  asked.find((query) => query.error && query.data === undefined);

export const answered = (asked: readonly QueryState[]): boolean => asked.every((query) => query.data !== undefined);

/** Stands where answers have yet to come, or did not come: neither is "none". Nothing once all are there. */
export function Unanswered({
  what,
  asked,
  line = false,
}: {
  what: string;
  asked: readonly QueryState[];
  line?: boolean;
}) {
  const failed = refused(asked);
  if (failed)
    return (
      <Failure
        error={failed.error}
        line={line}
        retry={() => asked.forEach((query) => query.error && query.refetch())}
      />
    );
  return answered(asked) ? null : <Waiting what={what} line={line} />;
}

/** Three lines for the reader, and what the result does not show. */
export function HowToRead({ lines, not }: { lines: [ReactNode, ReactNode, ReactNode]; not: ReactNode }) {
  return (
    <section className="card how" aria-label="How to read this">
      <h2 className="block-title">How to read this</h2>
      <ol>
        {lines.map((line, i) => (
          <li key={i}>{line}</li>
        ))}
      </ol>
      <p>
        <strong>What it does not prove.</strong> {not}
      </p>
    </section>
  );
}
