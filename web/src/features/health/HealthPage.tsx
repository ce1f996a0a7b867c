/** Ingest health: what arrives, how late, what is missing and what was refused with its reason. */
import { useQuery } from "@tanstack/react-query";
import { ingestQuery } from "../../api/queries";
import { type DeadLetter, type IngestStatus, LATE_S } from "../../api/shapes";
import { TableExport } from "../../components/TableExport";
import { DownloadButton } from "../../components/buttons";
import { type Column, DataTable } from "../../components/DataTable";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { UNPLACED, Unplaced } from "../../components/Figure";
import { bytes, count, duration, plural, si } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import "./health.css";
import { address } from "../../api/client";

type Topic = IngestStatus["topics"][number];
type Schema = IngestStatus["schemas"][number];
type Gap = IngestStatus["gaps"][number];

function columnsAt(now: number) {
  const when = (text: string | null | undefined) => {
    const ms = parseTime(text);
    return ms === null ? "–" : moment(ms, now, true);
  };
  const ago = (text: string | null) => {
    const ms = parseTime(text);
    return ms === null ? "never" : `${duration(Math.max(0, (now - ms) / 1000))} ago`;
  };
  const topics: Column<Topic>[] = [
    { key: "topic", header: "Topic", value: (t) => t.topic },
    { key: "records", header: "records", numeric: true, value: (t) => t.records, render: (t) => si(t.records) },
    {
      key: "values",
      header: "values/s",
      numeric: true,
      value: (t) => t.values_per_s,
      render: (t) => si(t.values_per_s),
    },
    {
      key: "bytes",
      header: "bytes/s",
      numeric: true,
      value: (t) => t.bytes_per_s,
      render: (t) => bytes(t.bytes_per_s),
    },
    {
      key: "lag",
      header: "behind",
      numeric: true,
      value: (t) => t.lag_s,
      render: (t) => <span className={(t.lag_s ?? 0) > LATE_S ? "alarm" : undefined}>{duration(t.lag_s)}</span>,
    },
    {
      key: "waiting",
      header: "waiting",
      numeric: true,
      value: (t) => t.lag_records,
      render: (t) => count(t.lag_records),
    },
    { key: "last", header: "last record", numeric: true, value: (t) => t.last_at, render: (t) => ago(t.last_at) },
    {
      key: "duplicates",
      header: "repeated",
      numeric: true,
      value: (t) => t.duplicates,
      render: (t) => count(t.duplicates),
    },
    { key: "late", header: "late", numeric: true, value: (t) => t.late, render: (t) => count(t.late) },
    {
      key: "dead",
      header: "refused",
      numeric: true,
      value: (t) => t.dead,
      render: (t) => <span className={t.dead ? "alarm" : undefined}>{count(t.dead)}</span>,
    },
    {
      key: "unplaced",
      header: UNPLACED,
      numeric: true,
      value: (t) => t.unplaced,
      render: (t) => <Unplaced records={t.unplaced} because={t.unplaced_because} />,
    },
  ];
  const schemas: Column<Schema>[] = [
    { key: "name", header: "Schema", value: (s) => s.name },
    { key: "kind", header: "Kind", value: (s) => s.kind },
    { key: "records", header: "records", numeric: true, value: (s) => s.records, render: (s) => si(s.records) },
    {
      key: "unknown",
      header: "unknown columns",
      numeric: true,
      value: (s) => s.unknown.length,
      render: (s) => <span title={s.unknown.join(", ") || undefined}>{count(s.unknown.length)}</span>,
    },
    {
      key: "first",
      header: `first seen, ${ZONE}`,
      numeric: true,
      value: (s) => s.first_seen,
      render: (s) => when(s.first_seen),
    },
    {
      key: "last",
      header: `last seen, ${ZONE}`,
      numeric: true,
      value: (s) => s.last_seen,
      render: (s) => when(s.last_seen),
    },
  ];
  const gaps: Column<Gap>[] = [
    { key: "device", header: "Device", value: (g) => g.device },
    { key: "schema", header: "Schema", value: (g) => g.schema },
    { key: "from", header: `From, ${ZONE}`, numeric: true, value: (g) => g.from, render: (g) => when(g.from) },
    {
      key: "to",
      header: `To, ${ZONE}`,
      numeric: true,
      value: (g) => g.to,
      render: (g) => (g.open ? "still open" : when(g.to)),
    },
    { key: "reason", header: "Reason", value: (g) => g.reason, render: (g) => (g.reason ?? "–").replaceAll("_", " ") },
  ];
  const letters: Column<DeadLetter>[] = [
    { key: "at", header: `Refused, ${ZONE}`, numeric: true, value: (d) => d.at, render: (d) => when(d.at) },
    {
      key: "reason",
      header: "Reason",
      value: (d) => d.reason,
      render: (d) => <span title={d.reason}>{d.reason}</span>,
    },
    { key: "topic", header: "Topic", value: (d) => d.topic },
    {
      key: "where",
      header: "Where",
      value: (d) => d.where,
      render: (d) => (d.where ?? "–").replace(`${d.topic}[`, "partition ").replace(/^(partition \d+)\]/, "$1,"),
    },
    { key: "bytes", header: "size", numeric: true, value: (d) => d.raw_bytes, render: (d) => bytes(d.raw_bytes) },
    {
      key: "raw",
      header: "Record",
      value: (d) => d.id,
      render: (d) => (
        <DownloadButton
          need="names"
          compact
          className="link"
          path={`/ingest/dead-letters/${d.id}/raw`}
          name={`dead-letter-${d.id}.bin`}
        >
          raw bytes
        </DownloadButton>
      ),
    },
  ];
  return { topics, schemas, gaps, letters };
}

export function HealthPage() {
  const status = useQuery(ingestQuery());
  if (status.error && !status.data) return <Failure page error={status.error} retry={() => void status.refetch()} />;
  if (!status.data) return <Waiting what="ingest health" />;
  const data = status.data;
  const now = parseTime(data.now) ?? Date.now();
  const columns = columnsAt(now);
  const values = data.topics.reduce((sum, t) => sum + (t.values_per_s ?? 0), 0);
  const lags = data.topics.map((t) => t.lag_s).filter((lag): lag is number => lag !== null);
  const worst = lags.length ? Math.max(...lags) : null;
  const open = data.silent_devices;
  return (
    <div className="health-page">
      <div className="context">
        <h1>Ingest health</h1>
        <span className="subtitle">
          as of {moment(now, now, true)} {ZONE}
          {status.error ? " · the server does not answer; this is its last answer" : ""}
        </span>
      </div>
      {data.read_only && (
        <div className="banner" role="status">
          <strong>Read-only.</strong>
          <span>
            {data.read_only}. Until space is free again, records wait in the log, and imports and tasks are refused.
          </span>
        </div>
      )}
      <section className="card health-figures" aria-label="Figures">
        <Figure label="Arriving" value={`${si(values)}/s`} detail="values, all topics" />
        <Figure
          label="Furthest behind"
          value={duration(worst)}
          detail={`target below ${LATE_S} s`}
          bad={(worst ?? 0) > LATE_S}
        />
        <Figure
          label="Written"
          value={data.position_age_s === null ? "–" : `${duration(data.position_age_s)} ago`}
          detail="last position of the writer"
          bad={(data.position_age_s ?? 0) > 30}
        />
        <Figure
          label="Refused records"
          value={count(data.dead_letters.total)}
          detail="kept with the reason"
          bad={data.dead_letters.total > 0}
        />
        <Figure
          label="Gaps"
          value={count(data.gap_total)}
          detail={open ? `${plural(open, "device")} silent now` : "none open"}
          bad={open > 0}
        />
      </section>
      <div className="health-grid">
        <div className="health-column">
          <Card
            title="Topics"
            rows={data.topics.length}
            note="records on the log, and the writer's position"
            action={
              <TableExport
                name="topics"
                source={address("/ingest/status")}
                rows={data.topics}
                columns={columns.topics}
              />
            }
          >
            {data.topics.length ? (
              <DataTable label="Topics" rows={data.topics} columns={columns.topics} id={(t) => t.topic} />
            ) : (
              <Empty title="Nothing arrives yet">
                Start a collector, e.g. <code>flitwatch collect ldms-csv DIR</code>.
              </Empty>
            )}
          </Card>
          <Card
            title="Schemas"
            rows={data.schemas.length}
            note="metric sets that the sources send"
            action={
              <TableExport
                name="schemas"
                source={address("/ingest/status")}
                rows={data.schemas}
                columns={columns.schemas}
              />
            }
          >
            {data.schemas.length ? (
              <DataTable
                label="Schemas"
                rows={data.schemas}
                columns={columns.schemas}
                id={(s) => `${s.name} ${s.first_seen}`}
              />
            ) : (
              <Empty title="None seen yet" />
            )}
          </Card>
          <Card
            title="Refused records"
            rows={data.dead_letters.recent.length}
            note="the raw bytes are kept here"
            action={
              <TableExport
                name="refused-records"
                source={address("/ingest/status")}
                rows={data.dead_letters.recent}
                columns={columns.letters}
              />
            }
          >
            {data.dead_letters.recent.length ? (
              <DataTable
                label="Refused records"
                rows={data.dead_letters.recent}
                columns={columns.letters}
                id={(d) => String(d.id)}
              />
            ) : (
              <Empty title="None">All records were decoded.</Empty>
            )}
          </Card>
        </div>
        <div className="health-column">
          <Card
            title="Gaps"
            rows={data.gaps.length}
            note={`${data.gap_total > data.gaps.length ? `the newest of ${count(data.gap_total)} · ` : ""}times without data are gaps, never zeros`}
            action={
              <TableExport name="gaps" source={address("/ingest/status")} rows={data.gaps} columns={columns.gaps} />
            }
          >
            {data.gaps.length ? (
              <DataTable
                label="Gaps"
                rows={data.gaps}
                columns={columns.gaps}
                id={(g) => `${g.device} ${g.schema} ${g.from}`}
              />
            ) : (
              <Empty title="None">All known devices are reporting.</Empty>
            )}
          </Card>
        </div>
      </div>
    </div>
  );
}

function Figure({
  label,
  value,
  detail,
  bad = false,
}: {
  label: string;
  value: string;
  detail: string;
  bad?: boolean;
}) {
  return (
    <div>
      <div className="subtitle">{label}</div>
      <div className={`health-value${bad ? " alarm" : ""}`}>{value}</div>
      <div className="subtitle">{detail}</div>
    </div>
  );
}

function Card({
  title,
  rows,
  note,
  action,
  children,
}: {
  title: string;
  rows: number;
  note: string;
  action: React.ReactNode;
  children: React.ReactNode;
}) {
  return (
    <section
      className="card health-card"
      aria-label={title}
      style={{ "--rows": Math.max(1, rows) } as React.CSSProperties}
    >
      <div className="card-head">
        <div className="card-title">
          <h2>{title}</h2>
          <span className="subtitle">{note}</span>
        </div>
        {action}
      </div>
      <div className="health-body">{children}</div>
    </section>
  );
}
