/** People: accounts, tokens and the audit log for admins; everyone's own tokens. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { address } from "../../api/client";
import { type AuditEntry, auditQuery, sessionQuery } from "../../api/people";
import { type Column, DataTable } from "../../components/DataTable";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { TableExport } from "../../components/TableExport";
import { count } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import "../estimates/estimates.css";
import { TokensView } from "./TokensView";
import { UsersView } from "./UsersView";
import type { AdminView } from "../addresses";
import "./admin.css";

// The audit log: what was changed, and whose names were seen, by whom.

const said = (details: Record<string, unknown>) =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");

function columnsAt(now: number): Column<AuditEntry>[] {
  return [
    {
      key: "at",
      header: "When",
      value: (e) => e.at,
      render: (e) => <span title={e.at}>{moment(parseTime(e.at) ?? now, now, true)}</span>,
      width: 130,
    },
    {
      key: "actor",
      header: "Who",
      value: (e) => e.actor,
      render: (e) => (
        <>
          {e.actor} <span className="muted">{e.role ?? e.via}</span>
        </>
      ),
    },
    { key: "action", header: "Did", value: (e) => e.action },
    {
      key: "status",
      header: "Status",
      numeric: true,
      value: (e) => e.status,
      render: (e) =>
        e.status === null ? "–" : <span className={e.status >= 400 ? "alarm" : undefined}>{e.status}</span>,
    },
    {
      key: "target",
      header: "Where",
      value: (e) => e.target,
      render: (e) => <span title={e.target ?? undefined}>{e.target ?? "–"}</span>,
    },
    {
      key: "details",
      header: "What",
      value: (e) => said(e.details),
      render: (e) => <span title={said(e.details)}>{said(e.details)}</span>,
    },
    { key: "via", header: "By", value: (e) => e.via },
    { key: "address", header: "From", value: (e) => e.address },
    { key: "request", header: "Request", value: (e) => e.request_id },
  ];
}

function AuditView({ actor }: { actor: string | undefined }) {
  const navigate = useNavigate({ from: "/admin" });
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage, dataUpdatedAt } = useInfiniteQuery(
    auditQuery(actor),
  );
  const rows = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const columns = useMemo(() => columnsAt(dataUpdatedAt), [dataUpdatedAt]);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Waiting what="the audit log" />;
  const of = (next: string | undefined) =>
    void navigate({ search: next ? { view: "audit", actor: next } : { view: "audit" }, replace: true });
  return (
    <section className="card admin-body" aria-label="Audit log">
      <div className="card-head">
        <div className="card-title">
          <h2>Audit log</h2>
          <span className="subtitle">
            {count(rows.length)}
            {hasNextPage ? " shown, more below" : ""} · changes and names seen, newest first; nothing here can be
            changed
          </span>
        </div>
        {actor && (
          <button className="button" onClick={() => of(undefined)}>
            Everybody, not {actor} only
          </button>
        )}
        <button className="button" onClick={() => void refetch()}>
          Refresh
        </button>
        <TableExport name="audit" source={address("/audit")} rows={rows} columns={columns} />
      </div>
      {rows.length ? (
        <DataTable
          label="Audit log"
          rows={rows}
          columns={columns}
          id={(e) => String(e.audit_id)}
          onPick={(e) => of(e.actor)}
          onReachEnd={() => {
            if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
          }}
        />
      ) : (
        <Empty title="Nothing yet">
          {actor
            ? `${actor} has made no changes and seen no names.`
            : "This list has all changes, and all answers with names."}
        </Empty>
      )}
    </section>
  );
}

const VIEWS: { value: AdminView; label: string }[] = [
  { value: "users", label: "Users" },
  { value: "tokens", label: "Tokens" },
  { value: "audit", label: "Audit log" },
];

export function AdminPage() {
  const search = useSearch({ from: "/admin" });
  const navigate = useNavigate({ from: "/admin" });
  const session = useQuery(sessionQuery());
  if (session.error && !session.data)
    return <Failure page error={session.error} retry={() => void session.refetch()} />;
  if (!session.data) return <Waiting what="who you are" />;
  const known = session.data;
  if (known.user === null)
    return (
      <div className="estimate-page admin-page">
        <div className="context">
          <h1>People</h1>
        </div>
        <Empty title="Sign in to see tokens and accounts">
          You are not signed in.{" "}
          <Link className="link strong" to="/login" search={{ to: "/admin" }}>
            Sign in
          </Link>
          ; the password of the first admin is in the file that the service named when it first started.
        </Empty>
      </div>
    );
  const manages = known.scopes.includes("admin");
  const view: AdminView = manages ? (search.view ?? "users") : "tokens";
  return (
    <div className="estimate-page admin-page">
      <div className="context">
        <h1>{manages ? "People" : "My tokens"}</h1>
        <span className="subtitle">
          you are {known.user}, {known.role} · times are {ZONE}
        </span>
        <span className="spacer" />
        {manages && (
          <Segmented
            label="Show"
            value={view}
            options={VIEWS}
            onChange={(next) => void navigate({ search: next === "users" ? {} : { view: next } })}
          />
        )}
      </div>
      {view === "users" ? (
        <UsersView self={known.user} />
      ) : view === "audit" ? (
        <AuditView actor={search.actor} />
      ) : (
        <TokensView session={known} />
      )}
    </div>
  );
}
