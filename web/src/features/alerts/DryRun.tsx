/** What a rule would have done: how often it would have fired, when, and for what. It sends no notifications. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import * as v from "valibot";
import { type DryRun, dryRunShape } from "../../api/alerts";
import { cancelTask, isOver, taskQuery, type Task } from "../../api/tasks";
import { BaseAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { AccessButton } from "../../components/buttons";
import type { Column } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { count, cut, duration, plural } from "../../lib/format";
import { moment, timeTicks, day, clock, ZONE } from "../../lib/time";
import { valueText } from "./standing";
import { address } from "../../api/client";

export const SPANS = {
  "1d": { label: "Last day", ms: 86_400_000 },
  "7d": { label: "Last week", ms: 7 * 86_400_000 },
  "30d": { label: "Last 30 days", ms: 30 * 86_400_000 },
} as const;
export type SpanName = keyof typeof SPANS;

type Fired = DryRun["alerts"][number];

export function said(run: DryRun): string {
  const span = duration(run.to_s - run.from_s);
  if (!run.samples) return `No samples of this signal in the last ${span}: the rule could not have fired`;
  return run.fired
    ? `Would have fired ${run.fired === 1 ? "once" : `${count(run.fired)} times`} in the last ${span}`
    : `Would not have fired in the last ${span}`;
}

export function reason(task: Task): string {
  if (task.state === "cancelled") return "The dry run was cancelled.";
  const error = task.error as { message?: unknown } | null;
  return typeof error?.message === "string" ? error.message : "The dry run failed and gave no reason.";
}

export function DryRunResult({ task: id, signal }: { task: number; signal: string }) {
  const queries = useQueryClient();
  const answer = useQuery({
    ...taskQuery(id),
    refetchInterval: ({ state }) => (state.data && !isOver(state.data) ? 1000 : false),
  });
  const cancel = useMutation({
    mutationFn: cancelTask,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["tasks"] }),
  });
  const task = answer.data;
  const run = useMemo(() => {
    const parsed = task?.state === "succeeded" ? v.safeParse(dryRunShape, task.result) : null;
    return parsed?.success ? parsed.output : null;
  }, [task]);
  if (answer.error && !task)
    return (
      <section className="card" aria-label="Dry run">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!task)
    return (
      <section className="card" aria-label="Dry run">
        <Waiting what="the dry run" />
      </section>
    );
  if (!isOver(task)) {
    return (
      <section className="card dry-run" aria-label="Dry run">
        <div className="card-head">
          <div className="card-title">
            <h2>Testing the rule</h2>
            <span className="subtitle">
              {task.state}
              {task.message && ` · ${task.message}`}
            </span>
          </div>
          <AccessButton
            need="tasks"
            compact
            className="button"
            onClick={() => cancel.mutate(id)}
            disabled={task.cancel_requested}
          >
            Cancel
          </AccessButton>
        </div>
        <progress
          className="progress"
          aria-label="Progress"
          max={Math.max(1, task.total)}
          value={task.total > 0 ? task.done : undefined}
        />
        {task.state === "queued" && (
          <p className="muted alerts-note">
            Waiting for a worker. If none is running, start one with <code>flitwatch worker</code>.
          </p>
        )}
      </section>
    );
  }
  if (!run)
    return (
      <section className="card dry-run" aria-label="Dry run">
        <p className="alarm alerts-note" role="alert">
          {reason(task)}
        </p>
      </section>
    );
  return <Result task={id} run={run} signal={signal} />;
}

const SHOWN = 24;

function Result({ task, run, signal }: { task: number; run: DryRun; signal: string }) {
  const now = run.to_s * 1000;
  const name = (fired: Fired) => Object.values(fired.labels).join(", ");
  const columns: Column<Fired & { at: number }>[] = [
    {
      key: "fired",
      header: `Fired, ${ZONE}`,
      value: (f) => new Date(f.fired_s * 1000).toISOString(),
      render: (f) => moment(f.fired_s * 1000, now),
    },
    {
      key: "lasted",
      header: "lasted",
      numeric: true,
      value: (f) => (f.resolved_s === null ? null : f.resolved_s - f.fired_s),
      render: (f) => (f.resolved_s === null ? "still" : duration(f.resolved_s - f.fired_s)),
    },
    { key: "what", header: "What", value: (f) => f.summary, render: (f) => <span title={f.summary}>{f.summary}</span> },
    { key: "peak", header: "peak", numeric: true, value: (f) => f.peak, render: (f) => valueText(f.peak, signal) },
  ];
  return (
    <PictureCard
      title={said(run)}
      name={`dry-run-${run.rule}`}
      source={address(`/tasks/${task}`)}
      rows={run.alerts.map((fired, at) => ({ ...fired, at }))}
      columns={columns}
      id={(f) => String(f.at)}
      className="dry-run-card"
      note={`${plural(run.samples, "sample")} of ${plural(run.series, "series", "series")}`}
    >
      <Spans run={run} name={name} />
    </PictureCard>
  );
}

/** A row a series, a bar an alert. */
function Spans({ run, name }: { run: DryRun; name: (fired: Fired) => string }) {
  const [box, size] = useSize();
  const rows = [...new Set(run.alerts.map(name))];
  const [left, right] = [96, 12];
  const x = (s: number) => left + ((s - run.from_s) / (run.to_s - run.from_s)) * ((size?.width ?? 0) - left - right);
  const ticks = timeTicks({ from: run.from_s * 1000, to: run.to_s * 1000 }, 6);
  return (
    <div ref={box} className="chart-box dry-run-box">
      {size && size.width > 200 && (
        <svg
          width={size.width}
          height={Math.min(rows.length, SHOWN) * 18 + 24}
          role="img"
          aria-label={`${said(run)}: ${plural(rows.length, "series", "series")}`}
        >
          <BaseAxis
            ticks={ticks}
            x={(tick) => x(tick / 1000)}
            y={Math.min(rows.length, SHOWN) * 18 + 18}
            grid={[0, Math.min(rows.length, SHOWN) * 18 + 4]}
            text={(tick) => (tick % 86_400_000 === 0 ? day(tick) : clock(tick))}
          />
          {rows.slice(0, SHOWN).map((row, i) => (
            <g key={row}>
              <text x={left - 8} y={i * 18 + 13} textAnchor="end">
                {cut(row, 14)}
              </text>
              {run.alerts
                .filter((fired) => name(fired) === row)
                .map((fired, j) => (
                  <rect
                    key={j}
                    className="dry-bar"
                    x={x(fired.fired_s)}
                    y={i * 18 + 4}
                    height={11}
                    width={Math.max(2, x(fired.resolved_s ?? run.to_s) - x(fired.fired_s))}
                  />
                ))}
            </g>
          ))}
        </svg>
      )}
      {rows.length > SHOWN && (
        <p className="muted alerts-note">{plural(rows.length - SHOWN, "more series", "more series")} in the table.</p>
      )}
    </div>
  );
}
