/** A new token: for what, how long, and its secret this once. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { accountsQuery, addToken } from "../../api/people";
import type { Session } from "../../api/session";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Unanswered } from "../../components/Notice";
import { SCOPES, scopesOf } from "./words";

const LIVES = [
  ["7", "1 week"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "1 year"],
] as const;

export function TokenDialog({ session, onClose }: { session: Session; onClose: () => void }) {
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
