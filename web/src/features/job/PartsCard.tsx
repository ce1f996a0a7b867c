/** What was counted on the job's own network cards and links, one row a figure, on the time axis of its steps. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { jobPartsQuery } from "../../api/queries";
import type { JobParts } from "../../api/shapes";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { type Gutters, partRows } from "../../charts/timeRows";
import type { Column } from "../../components/DataTable";
import { Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { change, ratio } from "../../lib/format";
import { clock, day, parseTime, timeTicks, ZONE, type TimeWindow, isoTime } from "../../lib/time";
import { type Onset, OnsetLine } from "./StepChart";
import { address } from "../../api/client";

interface Props {
  job: string;
  cluster: string;
  /** The axis that the step times have too. */
  span: TimeWindow;
  /** Until when the counters are asked for. */
  until: number;
  onset: Onset | null;
  gutters: Gutters;
}

export function PartsCard({ job, cluster, span, until, onset, gutters }: Props) {
  const answer = useQuery(jobPartsQuery(job, cluster, { from: span.from, to: until }));
  const parts = answer.data;
  const columns = useMemo<Column<number>[]>(
    () => [
      {
        key: "at",
        header: `Time, ${ZONE}`,
        value: (i) => parts?.ts[i] ?? "",
        render: (i) => {
          const ms = parseTime(parts?.ts[i]);
          return ms === null ? "" : `${day(ms)} ${clock(ms, true)}`;
        },
      },
      ...(parts?.parts ?? []).map((one): Column<number> => ({
        key: one.key,
        header: `${one.label}, ${one.unit}`,
        numeric: true,
        value: (i) => one.values[i] ?? null,
        render: (i) => ratio(one.values[i] ?? null),
      })),
    ],
    [parts],
  );
  const rows = useMemo(() => parts?.ts.map((_, i) => i) ?? [], [parts]);
  return (
    <PictureCard
      title="Counters"
      name={`job-${job}-parts`}
      source={address(`/jobs/${encodeURIComponent(job)}/counters`, {
        cluster,
        from: isoTime(span.from),
        to: isoTime(until),
      })}
      className={parts?.parts.length === 0 ? "job-parts none" : "job-parts"}
      rows={rows}
      columns={columns}
      id={String}
      note={`on the job's own network cards and links${onset ? " · grey: before the slowdown · right: mean since" : " · right: mean"}`}
    >
      {!parts ? (
        <Unanswered what="the counters" asked={[answer]} />
      ) : parts.parts.length ? (
        <Picture parts={parts} span={span} onset={onset} gutters={gutters} />
      ) : (
        <p className="muted job-note">
          No stalls or latencies were counted on its network cards and links while it ran.
        </p>
      )}
    </PictureCard>
  );
}

function Picture({ parts, span, onset, gutters }: Pick<Props, "span" | "onset" | "gutters"> & { parts: JobParts }) {
  const { left, right, row: rowHeight, head } = gutters;
  const [box, size] = useSize();
  const width = size?.width ?? 0;
  const height = parts.parts.length * rowHeight + 20;
  const layout = useMemo(
    () => (width > left + right + 60 ? partRows(parts, span, onset?.at ?? null, width, gutters) : null),
    [parts, span, onset, width, gutters, left, right],
  );
  return (
    <div ref={box} className="part-rows step-chart" style={{ height }}>
      {layout && (
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={layout.rows.map((row) => `${row.label} ${ratio(row.mean)} ${row.unit}`).join("; ")}
        >
          {layout.rows.map((row) => (
            <g key={row.key}>
              <text className="name" x={0} y={row.top + (head ? 14 : 18)}>
                {row.label}
                {head > 0 && (
                  <tspan className="unit" dx="6">
                    {row.unit}
                  </tspan>
                )}
              </text>
              {!head && (
                <text x={0} y={row.top + 33}>
                  {row.unit}
                </text>
              )}
              <ValueAxis ticks={row.ticks} y={row.y} left={left} right={width - right} />
              {row.usual && (
                <rect
                  className="spread"
                  x={left}
                  width={width - right - left}
                  y={row.usual.y}
                  height={row.usual.height}
                />
              )}
              <path className="high" d={row.path} />
              <text
                className={row.factor !== null && row.factor >= 1.5 ? "name alarm" : "name"}
                x={width}
                y={row.top + (head ? 14 : 22)}
                textAnchor="end"
              >
                {ratio(row.mean)}
                {head > 0 && row.factor !== null && ` · ${change(row.factor)}`}
              </text>
              {!head && row.factor !== null && (
                <text x={width} y={row.top + 37} textAnchor="end">
                  {change(row.factor)}
                </text>
              )}
            </g>
          ))}
          {onset && <OnsetLine onset={onset} x={layout.x} top={0} bottom={height - 20} right={width - right} bare />}
          <BaseAxis
            ticks={timeTicks(span, Math.max(2, Math.floor((width - left - right) / 110)))}
            x={layout.x}
            y={height - 5}
            text={(tick) => clock(tick, span.to - span.from < 600_000)}
          />
        </svg>
      )}
    </div>
  );
}
