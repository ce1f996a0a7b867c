/** Accounts: who may log in, as what, and when they last did. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { accountsQuery, changeAccount } from "../../api/people";
import type { Account } from "../../api/peopleShapes";
import { TableExport } from "../../components/TableExport";
import { DataTable, type Column } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { plural } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";
import { AccountDialog } from "./AccountDialog";
import { loginOf, ROLES } from "./words";
import { address } from "../../api/client";

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
