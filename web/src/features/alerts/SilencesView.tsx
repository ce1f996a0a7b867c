/** Silences: which alerts send no notification, until when, and why. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addSilence, endSilence, type Silence } from "../../api/alerts";
import { address } from "../../api/client";
import { AccessButton } from "../../components/buttons";
import type { Column } from "../../components/DataTable";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Empty } from "../../components/Notice";
import { TableExport } from "../../components/TableExport";
import { duration } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";

// A new silence: which alerts, for how long, why.

const LENGTHS = [
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "1 day"],
  ["168", "1 week"],
] as const;

/** `fabric=perlis` a line; a value between slashes is a regular expression. */
export function matchersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean)
      .map((line) => {
        const at = line.indexOf("=");
        return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

export function SilenceDialog({ labels, onClose }: { labels: Record<string, string>; onClose: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState(() =>
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
  );
  const [hours, setHours] = useState("4");
  const [comment, setComment] = useState("");
  const add = useMutation({
    mutationFn: () =>
      addSilence({
        matchers: matchersOf(text),
        ends: new Date(Date.now() + Number(hours) * 3_600_000).toISOString(),
        comment: comment.trim(),
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["alerts"] });
      onClose();
    },
  });
  return (
    <Dialog open title="Silence alerts" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <label>
          Alerts with all these labels
          <textarea
            className="field"
            rows={4}
            value={text}
            onChange={(event) => setText(event.target.value)}
            spellCheck={false}
          />
        </label>
        <p className="muted">
          One label a line; a value between slashes is a regular expression, as <code>group=/[0-3]/</code>.
        </p>
        <label>
          For
          <select className="field" value={hours} onChange={(event) => setHours(event.target.value)}>
            {LENGTHS.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Why
          <input
            className="field"
            value={comment}
            onChange={(event) => setComment(event.target.value)}
            required
            maxLength={1000}
            placeholder="Maintenance of group 3"
          />
        </label>
        <DialogEnd error={add.error} onClose={onClose}>
          <AccessButton
            need="operate"
            type="submit"
            className="button primary"
            disabled={add.isPending || !comment.trim() || !text.trim()}
          >
            Silence
          </AccessButton>
        </DialogEnd>
      </form>
    </Dialog>
  );
}

const what = (silence: Silence) =>
  Object.entries(silence.matchers)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

const columns: Column<Silence>[] = [
  { key: "what", header: "Silenced", value: what },
  { key: "starts", header: "Starts", value: (s) => s.starts },
  { key: "ends", header: "Ends", value: (s) => s.ends },
  { key: "comment", header: "Why", value: (s) => s.comment },
  { key: "by", header: "By", value: (s) => s.created_by },
];

function when(silence: Silence, now: number): string {
  const [starts, ends] = [parseTime(silence.starts) ?? now, parseTime(silence.ends) ?? now];
  if (ends <= now) return `ended ${moment(ends, now)}`;
  if (starts > now) return `begins ${moment(starts, now)}`;
  return `until ${moment(ends, now)}, ${duration((ends - now) / 1000)} more`;
}

export function SilencesView({ silences, now }: { silences: Silence[]; now: number }) {
  const queries = useQueryClient();
  const [adding, setAdding] = useState(false);
  const end = useMutation({
    mutationFn: endSilence,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["alerts"] }),
  });
  return (
    <section className="card silences" aria-label="Silences">
      <div className="card-head">
        <div className="card-title">
          <h2>Silences</h2>
          <span className="subtitle">alerts still fire and are kept; no notifications are sent · times are {ZONE}</span>
        </div>
        <TableExport name="silences" source={address("/alerts/silences")} rows={silences} columns={columns} />
        <AccessButton need="operate" className="button primary" onClick={() => setAdding(true)}>
          New silence…
        </AccessButton>
      </div>
      {end.error && (
        <p className="alarm alerts-note" role="alert">
          {end.error.message}
        </p>
      )}
      {silences.length ? (
        <ul className="alert-list">
          {silences.map((silence) => {
            const over = (parseTime(silence.ends) ?? 0) <= now;
            return (
              <li key={silence.silence_id} className="alert-item plain" data-over={over || undefined}>
                <span className="ellipsis">
                  <span className="home-title ellipsis">{what(silence)}</span>
                  <span className="subtitle ellipsis">
                    {[silence.comment, silence.created_by].filter(Boolean).join(" · ")}
                  </span>
                </span>
                <span className="subtitle">{when(silence, now)}</span>
                {!over && (
                  <AccessButton
                    need="operate"
                    compact
                    className="button"
                    onClick={() => end.mutate(silence.silence_id)}
                    disabled={end.isPending}
                    aria-label={`End now: ${what(silence)}`}
                  >
                    End now
                  </AccessButton>
                )}
              </li>
            );
          })}
        </ul>
      ) : (
        <Empty title="No silences">
          Before maintenance, silence its machine or group here; an alert's panel has the button too.
        </Empty>
      )}
      {adding && <SilenceDialog labels={{ fabric: "" }} onClose={() => setAdding(false)} />}
    </section>
  );
}
