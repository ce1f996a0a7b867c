/** A new silence: which alerts, for how long, why. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addSilence } from "../../api/alerts";
import { AccessButton } from "../../components/AccessButton";
import { Dialog, DialogEnd } from "../../components/Dialog";

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
