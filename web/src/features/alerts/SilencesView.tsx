/** Silences: which alerts are not told, until when, and why. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { endSilence } from "../../api/alerts";
import type { Silence } from "../../api/alertShapes";
import { AccessButton } from "../../components/AccessButton";
import { TableExport } from "../../components/TableExport";
import type { Column } from "../../components/DataTable";
import { Empty } from "../../components/Notice";
import { duration } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import { SilenceDialog } from "./SilenceDialog";
import { address } from "../../api/client";

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
