/** Contact points: where alerts are mailed, from which severity on, and how the last test mail went. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { contactsQuery, isTesting, removeContact, testContact } from "../../api/alerts";
import type { Contact } from "../../api/alertShapes";
import { AccessButton } from "../../components/AccessButton";
import { Empty, Unanswered } from "../../components/Notice";
import { moment, parseTime, ZONE } from "../../lib/time";
import { ContactDialog } from "./ContactDialog";
import { SEVERITIES } from "./standing";

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
