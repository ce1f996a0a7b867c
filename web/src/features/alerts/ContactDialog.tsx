/** A contact point: its addresses and from which severity on; saved, it gets a test mail at once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { saveContact, testContact } from "../../api/alerts";
import type { Contact } from "../../api/alertShapes";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { SEVERITIES } from "./standing";

/** What a contact is called unless its author says otherwise: the address's local part. */
const named = (address: string) =>
  (address.split("@")[0] ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80);

export function ContactDialog({ held, onClose }: { held: Contact | null; onClose: () => void }) {
  const queries = useQueryClient();
  const [addresses, setAddresses] = useState(held?.addresses?.join(", ") ?? "");
  const [given, setGiven] = useState(held?.name ?? "");
  const [severity, setSeverity] = useState(held?.least_severity ?? "info");
  const listed = addresses
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  const name = given || named(listed[0] ?? "");
  const keep = useMutation({
    mutationFn: async () => {
      await saveContact({ name, addresses: listed, least_severity: severity });
      return testContact(name);
    },
    onSuccess: onClose,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["alerts", "contacts"] }),
  });
  return (
    <Dialog open title={held ? `Contact ${held.name}` : "Add a contact"} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          keep.mutate();
        }}
      >
        <label>
          Mail address
          {/* Several are one contact, with a comma between them. */}
          <input
            className="field"
            type="email"
            multiple
            value={addresses}
            onChange={(event) => setAddresses(event.target.value)}
            required
            placeholder="network-team@example.org"
          />
        </label>
        <label>
          Which alerts
          <select className="field" value={severity} onChange={(event) => setSeverity(event.target.value)}>
            {Object.entries(SEVERITIES).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {!held && (
          <label>
            Name
            <input
              className="field"
              value={given}
              placeholder={name || "network-team"}
              pattern="[a-z0-9][a-z0-9-]{0,79}"
              title="a-z, 0-9 and -"
              onChange={(event) => setGiven(event.target.value)}
            />
          </label>
        )}
        <DialogEnd error={keep.error} onClose={onClose}>
          <button type="submit" className="button primary" disabled={keep.isPending || !name || !listed.length}>
            Save and send a test mail
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}
