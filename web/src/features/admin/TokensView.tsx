/** Tokens: which programs may act for whom, what they may, until when. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { address } from "../../api/client";
import { accountsQuery, addToken, revokeToken, type Session, type Token, tokensQuery } from "../../api/people";
import { type Column, DataTable } from "../../components/DataTable";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Empty, Failure, Unanswered, Waiting } from "../../components/Notice";
import { TableExport } from "../../components/TableExport";
import { plural } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";
import { SCOPES, scopesOf, stateOf, tokenText } from "./words";

// A new token: for what, how long, and its secret this once.

const LIVES = [
  ["7", "1 week"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "1 year"],
] as const;

function TokenDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const queries = useQueryClient();
  const manages = session.scopes.includes("admin");
  const listed = useQuery({ ...accountsQuery(), enabled: manages });
  const accounts = listed.data?.items.filter((account) => !account.disabled) ?? [];
  const self = session.user ?? "";
  const [account, setAccount] = useState(self);
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("90");
  const [chosen, setChosen] = useState<string[]>(["read"]);
  const offered = scopesOf(accounts.find((one) => one.name === account)?.role ?? session.role ?? "");
  const scopes = chosen.filter((scope) => offered.includes(scope));
  const make = useMutation({
    mutationFn: () =>
      addToken({ label: label.trim(), scopes, days: Number(days), ...(account !== self && { account }) }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["people"] }),
  });
  if (make.data)
    return (
      <Dialog open title="The token's secret" onClose={onClose}>
        <p>It is shown this once; only its hash is kept.</p>
        <code className="people-secret">{make.data.secret}</code>
        <div className="dialog-buttons">
          <button className="button primary" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
    );
  const toggle = (scope: string) =>
    setChosen((old) => (old.includes(scope) ? old.filter((one) => one !== scope) : [...old, scope]));
  return (
    <Dialog open title="New token" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <label>
          Purpose
          <input
            className="field"
            value={label}
            onChange={(event) => setLabel(event.target.value)}
            required
            maxLength={200}
            placeholder="Slurm agent of perlis"
          />
        </label>
        {manages && <Unanswered line what="the accounts" asked={[listed]} />}
        {accounts.length > 1 && (
          <label>
            Account
            <select className="field" value={account} onChange={(event) => setAccount(event.target.value)}>
              {accounts.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name} ({one.role})
                </option>
              ))}
            </select>
          </label>
        )}
        <fieldset className="people-scopes">
          <legend className="subtitle">Scopes</legend>
          {offered.map((scope) => (
            <label key={scope}>
              <input type="checkbox" checked={chosen.includes(scope)} onChange={() => toggle(scope)} />
              {SCOPES[scope]}
            </label>
          ))}
        </fieldset>
        <label>
          For
          <select className="field" value={days} onChange={(event) => setDays(event.target.value)}>
            {LIVES.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <DialogEnd error={make.error} onClose={onClose}>
          <button type="submit" className="button primary" disabled={make.isPending || !label.trim() || !scopes.length}>
            Make
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}

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
