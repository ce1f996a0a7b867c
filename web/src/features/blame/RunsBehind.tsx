/** The runs behind a name: their times against the exposure to its jobs. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { blameDetailQuery, type By } from "../../api/estimates";
import type { BlameDetail } from "../../api/estimateShapes";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { exposureLayout } from "../../charts/intervals";
import type { Column } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { hideTooltip, showTooltip } from "../../components/tooltip";
import { count, duration, ratio } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import { address } from "../../api/client";
import { effectText } from "./evidence";

interface Row {
  /** What the reader knows it by. */
  run: string;
  job: string | null;
  start: string;
  time: number;
  overlap: number | null;
  exposure: number;
}

const rowsOf = (detail: BlameDetail): Row[] =>
  detail.run_id.flatMap((run, i) => {
    const time = detail.time_s[i] ?? null;
    return time === null
      ? []
      : [
          {
            run: run === null ? (detail.run_name[i] ?? `run ${i + 1}`) : `run ${run}`,
            job: detail.job_id[i] ?? null,
            start: detail.start[i] ?? "",
            time,
            overlap: detail.overlap[i] ?? null,
            exposure: detail.exposure[i] ?? 0,
          },
        ];
  });

const when = (text: string) => {
  const ms = parseTime(text);
  return ms === null ? "–" : moment(ms, Date.now());
};

const columnsOf = (files: boolean): Column<Row>[] => [
  {
    key: "job",
    header: files ? "Run" : "Job",
    value: (r) => (files ? r.run : r.job),
    render: (r) =>
      r.job === null ? (
        r.run
      ) : (
        <Link to="/jobs/$job" params={{ job: r.job }}>
          {r.job}
        </Link>
      ),
  },
  { key: "start", header: `Start, ${ZONE}`, numeric: true, value: (r) => r.start, render: (r) => when(r.start) },
  { key: "time", header: "time, s", numeric: true, value: (r) => r.time, render: (r) => ratio(r.time) },
  {
    key: "exposure",
    header: "exposure",
    numeric: true,
    value: (r) => r.exposure,
    render: (r) => (r.exposure > 0 ? ratio(r.exposure) : "none"),
  },
  {
    key: "overlap",
    header: "overlap",
    numeric: true,
    value: (r) => r.overlap,
    render: (r) => (r.overlap === null ? "not known" : r.overlap > 0 ? r.overlap.toFixed(2) : "none"),
  },
];

export function RunsBehind({ estimate, by, place }: { estimate: number; by: By; place: number }) {
  const detail = useQuery(blameDetailQuery(estimate, by, place));
  const rows = useMemo(() => (detail.data ? rowsOf(detail.data) : []), [detail.data]);
  const files = detail.data?.estimate.source === "files";
  const columns = useMemo(() => columnsOf(files), [files]);
  if (detail.error && !detail.data)
    return (
      <section className="card" aria-label="Runs">
        <Failure error={detail.error} retry={() => void detail.refetch()} />
      </section>
    );
  if (!detail.data)
    return (
      <section className="card" aria-label="Runs">
        <Waiting what="the runs" />
      </section>
    );
  const { entry } = detail.data;
  const exposed = rows.filter((row) => row.exposure > 0).length;
  return (
    <PictureCard
      title={`Runs alongside ${entry.name}`}
      name={`runs-compared-${entry.name}`}
      source={address(`/estimates/blame/${estimate}/${by}/${place}`)}
      className="runs-behind"
      rows={rows}
      columns={columns}
      id={(r) => r.run}
      note={`${count(exposed)} of ${count(rows.length)} exposed`}
    >
      <Dots rows={rows} name={entry.name} files={files} />
      <p className="muted chart-key">
        {[`${entry.verdict}: ${entry.reasons.join("; ")}`, effectText(entry)].filter(Boolean).join(" · ")}
      </p>
    </PictureCard>
  );
}

function Dots({ rows, name, files }: { rows: Row[]; name: string; files: boolean }) {
  const [box, size] = useSize();
  const navigate = useNavigate();
  const layout = useMemo(
    () => (size && size.width > 120 && size.height > 90 ? exposureLayout(rows, size.width, size.height) : null),
    [rows, size],
  );
  return (
    <div ref={box} className="chart-box">
      {size && layout && (
        <svg
          width={size.width}
          height={size.height}
          role="img"
          aria-label={`Times of ${rows.length} runs against exposure to jobs of ${name}. ${layout.medians.map((m) => `Median ${m.exposed ? "with" : "without"}: ${ratio(m.value)} s`).join(". ")}`}
        >
          <ValueAxis ticks={layout.yTicks} y={layout.y} left={44} right={size.width - 12} gap={6} text={count} />
          <line className="grid strong" x1={layout.split} x2={layout.split} y1={4} y2={layout.bottom} />
          <text x={(44 + layout.split) / 2} y={layout.bottom + 16} textAnchor="middle">
            none
          </text>
          <BaseAxis ticks={layout.xTicks} x={layout.x} y={layout.bottom + 16} text={count} />
          <text x={size.width - 12} y={size.height - 5} textAnchor="end">
            {files ? "exposure: amount in the file" : "exposure: overlap × shared nodes by group"}
          </text>
          <text x={44} y={size.height - 5}>
            time, s
          </text>
          {layout.dots.map((dot) => {
            const row = rows[dot.run] as Row;
            return (
              <circle
                key={row.run}
                cx={dot.x}
                cy={dot.y}
                r={3.5}
                className={dot.exposed ? "dot exposed" : "dot"}
                onPointerMove={(event) =>
                  showTooltip(
                    event.clientX,
                    event.clientY,
                    `${row.job ? `job ${row.job}` : row.run}  ${when(row.start)} ${ZONE}\n${duration(row.time)}\n${row.exposure > 0 ? `exposure ${ratio(row.exposure)}` : "no such job alongside"}`,
                  )
                }
                onPointerLeave={hideTooltip}
                onClick={() => {
                  hideTooltip();
                  if (row.job !== null) void navigate({ to: "/jobs/$job", params: { job: row.job } });
                }}
              />
            );
          })}
          {layout.medians.map((m) => (
            <g key={String(m.exposed)}>
              <line className="median-line" x1={m.x0} x2={m.x1} y1={m.y} y2={m.y} />
              <text x={m.x1} y={m.y - 5} textAnchor="end" className="strong">
                median {ratio(m.value)}
              </text>
            </g>
          ))}
        </svg>
      )}
    </div>
  );
}
