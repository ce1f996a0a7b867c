/** Tokens: which programs may act for whom, what they may, until when. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { revokeToken, tokensQuery } from "../../api/people";
import type { Token } from "../../api/peopleShapes";
import type { Session } from "../../api/session";
import { TableExport } from "../../components/TableExport";
import { DataTable, type Column } from "../../components/DataTable";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { plural } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";
import { TokenDialog } from "./TokenDialog";
import { stateOf, tokenText } from "./words";
import { address } from "../../api/client";

function columnsOf(now: number, busy: boolean, revoke: (id: number) => void): Column<Token>[] {
  const at = (text: string | null) => {
    const ms = parseTime(text);
    return ms === null ? "never" : moment(ms, now);
  };
  return [
    { key: "label", header: "Token", value: (t) => t.label },
    {
      key: "account",
      header: "Account",
      value: (t) => t.account,
      render: (t) => (
        <>
          {t.account} <span className="muted">{t.role}</span>
        </>
      ),
    },
    { key: "scopes", header: "May", value: (t) => t.scopes.join(", ") },
    {
      key: "left",
      header: "Valid",
      value: (t) => (stateOf(t, now) === "valid" ? t.expires : ""),
      render: (t) => tokenText(t, now),
    },
    { key: "used", header: "Last used", numeric: true, value: (t) => t.used, render: (t) => at(t.used) },
    { key: "created", header: "Made", numeric: true, value: (t) => t.created, render: (t) => at(t.created) },
    {
      key: "acts",
      header: "Change",
      acts: true,
      value: () => null,
      render: (t) =>
        stateOf(t, now) === "valid" ? (
          <button
            className="button"
            onClick={() => revoke(t.token_id)}
            disabled={busy}
            aria-label={`Revoke ${t.label} of ${t.account}`}
          >
            Revoke
          </button>
        ) : (
          "–"
        ),
    },
  ];
}

export function TokensView({ session }: { session: Session }) {
  const queries = useQueryClient();
  const { data, error, refetch, dataUpdatedAt } = useQuery(tokensQuery());
  const [making, setMaking] = useState(false);
  const {
    mutate,
    isPending,
    error: refused,
  } = useMutation({
    mutationFn: revokeToken,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["people"] }),
  });
  const columns = useMemo(() => columnsOf(dataUpdatedAt, isPending, mutate), [dataUpdatedAt, isPending, mutate]);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Waiting what="the tokens" />;
  const valid = data.items.filter((token) => stateOf(token, dataUpdatedAt) === "valid").length;
  return (
    <section className="card admin-body" aria-label="Tokens">
      <div className="card-head">
        <div className="card-title">
          <h2>Tokens</h2>
          <span className="subtitle">
            {plural(valid, "valid token")} of {data.items.length} · sent as Authorization: Bearer
          </span>
        </div>
        <TableExport name="tokens" source={address("/tokens")} rows={data.items} columns={columns} />
        <button className="button primary" onClick={() => setMaking(true)}>
          New token…
        </button>
      </div>
      {refused && (
        <p className="alarm admin-note" role="alert">
          {refused.message}
        </p>
      )}
      {data.items.length ? (
        <DataTable label="Tokens" rows={data.items} columns={columns} id={(t) => String(t.token_id)} />
      ) : (
        <Empty title="No token yet">
          Scripts, schedulers and dashboards use tokens. A token expires and is limited to its scopes.
        </Empty>
      )}
      {making && <TokenDialog session={session} onClose={() => setMaking(false)} />}
    </section>
  );
}
