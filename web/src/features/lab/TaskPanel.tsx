import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { isOver, taskError, taskQuery, type Task } from "../../api/tasks";
import { type Column, DataTable } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { save } from "../../lib/tables";
import { count } from "../../lib/format";
import { BoxPlots } from "./BoxPlots";
import { CongestedFraction } from "./CongestedFraction";
import { boxSeries, factName, factText, type Record_, resultTables, type Scalar } from "./results";
import { WhatIfMap } from "./WhatIfMap";
import { address } from "../../api/client";
import { TableExport } from "../../components/TableExport";

/** How much of a panel is in sight at least. */
const LEAST_SEEN = 96;

/** One task: how far it is, what came out, and why it failed. `named`: the address names it, so that it must be in sight. */
export function TaskPanel({ id, named, onCancel }: { id: number; named: boolean; onCancel: () => void }) {
  const answer = useQuery({
    ...taskQuery(id),
    refetchInterval: ({ state }) => (state.data && !isOver(state.data) ? 1000 : false),
  });
  const task = answer.data;
  const panel = useRef<HTMLElement>(null);
  const known = task !== undefined;
  useEffect(() => {
    // Where columns are below one another, it is below all studies.
    const top = panel.current?.getBoundingClientRect().top ?? 0;
    if (named && known && top > innerHeight - LEAST_SEEN) panel.current?.scrollIntoView();
  }, [named, known]);
  if (answer.error && !task)
    return (
      <section className="card" aria-label="Task">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!task)
    return (
      <section className="card" aria-label="Task">
        <Waiting what="the task" />
      </section>
    );
  return (
    <section className="card lab-task" aria-label="Task" ref={panel}>
      <div className="card-head">
        <div className="card-title">
          <h2>Task {task.task_id}</h2>
          <span className="subtitle">
            {task.state}
            {task.message && !isOver(task) ? ` · ${task.message}` : ""}
          </span>
        </div>
        {!isOver(task) && (
          <button className="button" onClick={onCancel} disabled={task.cancel_requested}>
            {task.cancel_requested ? "Stopping…" : "Cancel"}
          </button>
        )}
        {task.state === "succeeded" && (
          <button
            className="button"
            onClick={() => save(`task-${id}.json`, JSON.stringify(task, null, 2), "application/json")}
          >
            Export JSON
          </button>
        )}
      </div>
      {!isOver(task) && (
        <progress
          className="progress"
          aria-label="Progress"
          max={Math.max(1, task.total)}
          value={task.total > 0 ? task.done : undefined}
        />
      )}
      {task.state === "queued" && (
        <p className="muted card-note">
          Waiting for a worker. If none is running, start one with <code>flitwatch worker</code>.
        </p>
      )}
      {task.state === "failed" && (
        <p className="alarm card-note" role="alert">
          {taskError(task)}
        </p>
      )}
      {task.state === "succeeded" && <Result task={task} />}
    </section>
  );
}

/** Distributions drawn of one result; all of them are in its file. */
const MOST_PLOTS = 4;

function Result({ task }: { task: Task }) {
  const { facts, tables } = useMemo(() => resultTables(task.result), [task.result]);
  const series = useMemo(() => boxSeries(task.result), [task.result]);
  const answer = facts.find(([name]) => name === "answer")?.[1];
  return (
    <>
      {answer && <p className="lab-answer">{answer}</p>}
      {series.slice(0, MOST_PLOTS).map((one) => (
        <BoxPlots key={one.name} series={one} task={task.task_id} />
      ))}
      {task.name === "sim.whatif" && <WhatIfMap result={task.result} task={task.task_id} />}
      <CongestedFraction task={task} />
      <dl className="facts">
        {facts
          .filter(([name]) => name !== "answer")
          .slice(0, 12)
          .map(([name, value]) => (
            <Fact key={name} name={name} value={value} />
          ))}
      </dl>
      {tables.slice(0, 3).map((table) => {
        const numeric = (name: string) => table.rows.some((row) => typeof row[name] === "number");
        const columns = table.columns.map((name): Column<Record_ & { at: number }> => ({
          key: name,
          header: factName(name),
          numeric: numeric(name),
          value: (row) => (typeof row[name] === "boolean" ? String(row[name]) : (row[name] as string | number | null)),
          render: (row) => factText(name, row[name] ?? null),
        }));
        const rows = table.rows.map((row, at) => ({ ...row, at }));
        return (
          <div className="lab-table" key={table.name}>
            <div className="card-head">
              <div className="card-title">
                <h3>{table.name}</h3>
                <span className="subtitle">{count(rows.length)}</span>
              </div>
              <TableExport
                name={`task-${task.task_id}-${table.name}`}
                rows={rows}
                columns={columns}
                source={address(`/tasks/${task.task_id}`)}
              />
            </div>
            <DataTable label={table.name} rows={rows} columns={columns} id={(row) => String(row.at)} />
          </div>
        );
      })}
    </>
  );
}

const Fact = ({ name, value }: { name: string; value: Scalar }) => (
  <>
    <dt>{factName(name)}</dt>
    <dd>{factText(name, value)}</dd>
  </>
);
