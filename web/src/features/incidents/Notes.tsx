/** What was done about an incident: notes of people, and one more from whoever may write. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { addIncidentNote, type IncidentNote } from "../../api/incident";
import { AccessButton, useLacking } from "../../components/buttons";
import { Failure } from "../../components/Notice";
import { moment, parseTime, ZONE } from "../../lib/time";

export function Notes({ incident, notes, now }: { incident: number; notes: IncidentNote[]; now: number }) {
  const queries = useQueryClient();
  const lacking = useLacking("tasks");
  const [text, setText] = useState("");
  const add = useMutation({
    mutationFn: () => addIncidentNote(incident, text.trim()),
    onSuccess: () => {
      setText("");
      void queries.invalidateQueries({ queryKey: ["incidents"] });
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <section className="card incident-part" aria-label="What was done">
      <div className="card-head">
        <h2>What was done</h2>
      </div>
      {notes.length ? (
        <ul className="incident-list">
          {notes.map((one) => (
            <li key={one.note_id}>
              <span className="incident-note">{one.text}</span>
              <span className="subtitle">
                {one.author} · {moment(parseTime(one.at) ?? NaN, now)} {ZONE}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="muted card-note">No note yet.</p>
      )}
      <form className="form incident-form" onSubmit={submit}>
        <textarea
          className="field"
          aria-label="Note"
          rows={2}
          maxLength={2000}
          placeholder="What you did, and what changed"
          disabled={lacking !== null || add.isPending}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <AccessButton need="tasks" type="submit" className="button" disabled={add.isPending || !text.trim()}>
          Add the note
        </AccessButton>
        {add.error && <Failure line error={add.error} />}
      </form>
    </section>
  );
}
