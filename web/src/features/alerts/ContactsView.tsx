/** Contact points: where alerts are mailed, from which severity on, and how the last test mail went. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Contact, contactsQuery, isTesting, removeContact, saveContact, testContact } from "../../api/alerts";
import { AccessButton } from "../../components/buttons";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Empty, Unanswered } from "../../components/Notice";
import { moment, parseTime, ZONE } from "../../lib/time";
import { SEVERITIES } from "./standing";

// A contact point: its addresses and from which severity on; saved, it gets a test mail at once.

/** What a contact is called unless its author says otherwise: the address's local part. */
const named = (address: string) =>
  (address.split("@")[0] ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80);

function ContactDialog({ held, onClose }: { held: Contact | null; onClose: () => void }) {
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

function tested(contact: Contact, now: number): string {
  const tried = parseTime(contact.test_tried_at);
  if (isTesting(contact)) return "the alert engine (flitwatch alerting) will send a test mail";
  if (tried === null) return "not tested";
  return contact.test_error === null
    ? `test mail sent ${moment(tried, now, true)}`
    : `test mail not sent ${moment(tried, now, true)}: ${contact.test_error}`;
}

export function ContactsView({ now }: { now: number }) {
  const queries = useQueryClient();
  const contacts = useQuery(contactsQuery());
  const [editing, setEditing] = useState<Contact | "new" | null>(null);
  const settled = { onSettled: () => void queries.invalidateQueries({ queryKey: ["alerts", "contacts"] }) };
  const test = useMutation({ mutationFn: testContact, ...settled });
  const gone = useMutation({ mutationFn: removeContact, ...settled });
  const failed = test.error ?? gone.error;
  return (
    <section className="card silences" aria-label="Contacts">
      <div className="card-head">
        <div className="card-title">
          <h2>Contacts</h2>
          <span className="subtitle">
            where alerts are mailed; receivers of the configuration file come on top · times are {ZONE}
          </span>
        </div>
        <AccessButton need="operate" className="button primary" onClick={() => setEditing("new")}>
          Add a contact…
        </AccessButton>
      </div>
      {failed && (
        <p className="alarm alerts-note" role="alert">
          {failed.message}
        </p>
      )}
      {!contacts.data ? (
        <Unanswered what="the contacts" asked={[contacts]} />
      ) : contacts.data.items.length ? (
        <ul className="alert-list" aria-live="polite">
          {contacts.data.items.map((contact) => (
            <li key={contact.name} className="alert-item plain contact-item">
              <span className="ellipsis">
                <span className="home-title ellipsis">
                  {contact.name}: {contact.addresses?.join(", ") ?? "address hidden from your role"}
                </span>
                <span className={`subtitle ellipsis${contact.test_error && !isTesting(contact) ? " alarm" : ""}`}>
                  {SEVERITIES[contact.least_severity] ?? contact.least_severity} · {tested(contact, now)}
                </span>
              </span>
              <span className="contact-buttons">
                <AccessButton
                  need="operate"
                  compact
                  className="button"
                  onClick={() => test.mutate(contact.name)}
                  disabled={test.isPending || isTesting(contact)}
                  aria-label={`Send a test mail to ${contact.name}`}
                >
                  Send a test mail
                </AccessButton>
                <AccessButton
                  need="operate"
                  compact
                  className="button"
                  onClick={() => setEditing(contact)}
                  aria-label={`Edit ${contact.name}`}
                >
                  Edit…
                </AccessButton>
                <AccessButton
                  need="operate"
                  compact
                  className="button"
                  onClick={() => gone.mutate(contact.name)}
                  disabled={gone.isPending}
                  aria-label={`Remove ${contact.name}`}
                >
                  Remove
                </AccessButton>
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="No contact yet">
          Add an address to receive alerts by e-mail. A test mail shows whether they arrive.
        </Empty>
      )}
      {editing && <ContactDialog held={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </section>
  );
}
