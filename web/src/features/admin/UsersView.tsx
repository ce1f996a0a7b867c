/** Accounts: who may log in, as what, and when they last did. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { address } from "../../api/client";
import { type Account, accountsQuery, addAccount, changeAccount } from "../../api/people";
import { type Column, DataTable } from "../../components/DataTable";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Failure, Waiting } from "../../components/Notice";
import { TableExport } from "../../components/TableExport";
import { plural } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";
import { loginOf, ROLES } from "./words";

// A new account, or another role or password for one that is there.

function AccountDialog({ account, onClose }: { account: Account | null; onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(account?.name ?? "");
  const [role, setRole] = useState(account?.role ?? "user");
  const [password, setPassword] = useState("");
  // A provider keeps the passwords of those whom it vouches for.
  const mayHave = role !== "service" && !account?.issuer;
  const secret = password && mayHave ? { password } : {};
  const save = useMutation({
    mutationFn: () =>
      account
        ? changeAccount(account.name, { ...(role !== account.role && { role }), ...secret })
        : addAccount({ name: name.trim(), role, ...secret }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["people"] });
      onClose();
    },
  });
  const changed = account === null ? Boolean(name.trim()) : role !== account.role || "password" in secret;
  return (
    <Dialog open title={account ? `Change ${account.name}` : "New user"} onClose={onClose}>
      <form
        className="form"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        {!account && (
          <label>
            User name, as in the scheduler
            <input
              className="field"
              value={name}
              onChange={(event) => setName(event.target.value)}
              required
              maxLength={200}
              autoCapitalize="none"
              spellCheck={false}
            />
          </label>
        )}
        <label>
          Role
          <select className="field" value={role} onChange={(event) => setRole(event.target.value)}>
            {Object.entries(ROLES).map(([value, what]) => (
              <option key={value} value={value}>
                {value}: {what}
              </option>
            ))}
          </select>
        </label>
        {mayHave && (
          <label>
            {account ? "New password (leave empty to keep the old one)" : "Password"}
            <input
              className="field"
              type="password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
              minLength={12}
              maxLength={1024}
              autoComplete="new-password"
            />
          </label>
        )}
        {account && <p className="muted">Its sessions end; it logs in again.</p>}
        <DialogEnd error={save.error} onClose={onClose}>
          <button type="submit" className="button primary" disabled={save.isPending || !changed}>
            {account ? "Change" : "Make"}
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}

interface Acts {
  self: string;
  busy: boolean;
  edit: (account: Account) => void;
  toggle: (account: Account) => void;
}

function columnsOf(now: number, { self, busy, edit, toggle }: Acts): Column<Account>[] {
  const at = (text: string | null) => {
    const ms = parseTime(text);
    return ms === null ? "never" : moment(ms, now);
  };
  return [
    { key: "name", header: "Name", value: (a) => a.name },
    { key: "role", header: "Role", value: (a) => a.role, render: (a) => <span title={ROLES[a.role]}>{a.role}</span> },
    { key: "login", header: "Login", value: loginOf },
    { key: "seen", header: "Last login", numeric: true, value: (a) => a.seen, render: (a) => at(a.seen) },
    { key: "created", header: "Made", numeric: true, value: (a) => a.created, render: (a) => at(a.created) },
    { key: "tokens", header: "Tokens", numeric: true, value: (a) => a.tokens },
    {
      key: "acts",
      header: "Change",
      acts: true,
      value: () => null,
      render: (a) => (
        <span className="admin-acts">
          <button className="button" onClick={() => edit(a)} aria-label={`Change ${a.name}`}>
            Change…
          </button>
          {a.name !== self && (
            <button
              className="button"
              onClick={() => toggle(a)}
              disabled={busy}
              aria-label={`${a.disabled ? "Enable" : "Disable"} ${a.name}`}
            >
              {a.disabled ? "Enable" : "Disable"}
            </button>
          )}
        </span>
      ),
    },
  ];
}

export function UsersView({ self }: { self: string }) {
  const queries = useQueryClient();
  const { data, error, refetch, dataUpdatedAt } = useQuery(accountsQuery());
  const [edited, setEdited] = useState<Account | "new" | null>(null);
  const {
    mutate,
    isPending,
    error: refused,
  } = useMutation({
    mutationFn: (account: Account) => changeAccount(account.name, { disabled: !account.disabled }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["people"] }),
  });
  const columns = useMemo(
    () => columnsOf(dataUpdatedAt, { self, busy: isPending, edit: setEdited, toggle: mutate }),
    [dataUpdatedAt, self, isPending, mutate],
  );
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Waiting what="the accounts" />;
  return (
    <section className="card admin-body" aria-label="Users">
      <div className="card-head">
        <div className="card-title">
          <h2>Users</h2>
          <span className="subtitle">
            {plural(data.items.length, "account")}, {data.items.filter((account) => account.disabled).length} disabled
          </span>
        </div>
        <TableExport name="users" source={address("/users")} rows={data.items} columns={columns} />
        <button className="button primary" onClick={() => setEdited("new")}>
          New user…
        </button>
      </div>
      {refused && (
        <p className="alarm admin-note" role="alert">
          {refused.message}
        </p>
      )}
      <DataTable label="Users" rows={data.items} columns={columns} id={(a) => a.name} />
      {edited !== null && <AccountDialog account={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
    </section>
  );
}
