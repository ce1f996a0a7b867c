/** Cables that run slower than most of their kind, and cables whose link fails or changes its speed again and again. Nothing is drawn if there are none, and a reason if that is unknown. */
import { classText } from "../../machine/words";
import { useQuery } from "@tanstack/react-query";
import { type SlowCable, slowCablesQuery } from "../../api/links";
import { type Column, DataTable } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { plural } from "../../lib/format";

/** 50 Gb/s of 50e9. */
export const speedText = (bps: number | null): string => (bps === null ? "unknown" : `${String(bps / 1e9)} Gb/s`);

const end = (name: string, port: number | null) => (port === null ? name : `${name} port ${String(port)}`);

const COLUMNS: Column<SlowCable>[] = [
  { key: "from", header: "From", value: (c) => end(c.src_name, c.src_port) },
  { key: "to", header: "To", value: (c) => end(c.dst_name, c.dst_port) },
  { key: "class", header: "Class", value: (c) => classText(c.link_class) },
  {
    key: "speed",
    header: "Speed",
    numeric: true,
    value: (c) => c.bandwidth_bps,
    render: (c) => speedText(c.bandwidth_bps),
  },
  {
    key: "usual",
    header: "Most of its kind",
    numeric: true,
    value: (c) => c.usual_bps,
    render: (c) => speedText(c.usual_bps),
  },
  { key: "downs", header: "Link down, 24 h", numeric: true, value: (c) => c.link_downs },
  { key: "recoveries", header: "Recovered, 24 h", numeric: true, value: (c) => c.link_recoveries },
  { key: "changes", header: "Speed changed, 24 h", numeric: true, value: (c) => c.link_speed_changes },
  { key: "what", header: "Condition", value: (c) => c.condition },
];

export function CablesPanel({ fabric }: { fabric: number }) {
  const answer = useQuery(slowCablesQuery(fabric));
  const cables = answer.data?.items ?? [];
  if (answer.error) return <Unanswered line what="cables" asked={[answer]} />;
  if (!cables.length) return null;
  return (
    <section className="card cables-panel" aria-label="Slow and flapping cables">
      <div className="card-head">
        <div className="card-title">
          <h2>Slow and flapping cables</h2>
          <span className="subtitle">
            {plural(cables.length, "cable")}: at most half the usual speed of its kind, or a link that repeatedly fails
            or changes its speed
          </span>
        </div>
      </div>
      <DataTable label="Slow and flapping cables" rows={cables} columns={COLUMNS} id={(c) => String(c.link)} />
    </section>
  );
}
