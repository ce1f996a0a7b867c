/** A new account, or another role or password for one that is there. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addAccount, changeAccount } from "../../api/people";
import type { Account } from "../../api/peopleShapes";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { ROLES } from "./words";

export function AccountDialog({ account, onClose }: { account: Account | null; onClose: () => void }) {
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
