/** What if: studies as cards, started as tasks; their progress, and results that an address keeps. Everything here is simulated. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { address } from "../../api/client";
import { cancelTask, isOver, startTask, type Task, tasksQuery } from "../../api/tasks";
import { AccessButton } from "../../components/buttons";
import { type Column, DataTable } from "../../components/DataTable";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { Empty, Failure, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { TableExport } from "../../components/TableExport";
import { duration } from "../../lib/format";
import { moment, parseTime, ZONE } from "../../lib/time";
import "../estimates/estimates.css";
import { NoisePanel } from "./NoisePanel";
import { TaskPanel } from "./TaskPanel";
import { WhatIfDialog } from "./WhatIfDialog";
import "./lab.css";
import { fieldLabel, fieldsOf, parametersFrom, STUDIES, type StudyCard, type StudyField, type Typed } from "./studies";

// Asks for a study's parameters, those of its own model, and starts it as a task.

interface Asking {
  card: StudyCard;
  onClose: () => void;
  onStarted: (task: Task) => void;
}

function StudyDialog({ card, onClose, onStarted }: Asking) {
  const fields = fieldsOf(card.study);
  const [typed, setTyped] = useState<Typed>({});
  const start = useMutation({
    mutationFn: () => startTask("sim.study", { study: card.study, parameters: parametersFrom(fields, typed) }),
    onSuccess: onStarted,
  });
  return (
    <Dialog open title={`${card.title}: ${card.study}`} onClose={onClose}>
      <form
        className="form rows"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <p className="muted">{card.asks}</p>
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={typed[field.name] ?? ""}
            onChange={(value) => setTyped((old) => ({ ...old, [field.name]: value }))}
          />
        ))}
        <DialogEnd error={start.error} onClose={onClose}>
          <AccessButton need="tasks" type="submit" className="button primary" disabled={start.isPending}>
            Run
          </AccessButton>
        </DialogEnd>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  field: StudyField;
  value: string | string[];
  onChange: (value: string | string[]) => void;
}

function Field({ field, value, onChange }: FieldProps) {
  const usual = field.usual === undefined ? "the study's own" : String(field.usual);
  if (field.type === "choices") {
    const chosen = Array.isArray(value) ? value : [];
    return (
      <fieldset className="lab-checks">
        <legend>{fieldLabel(field.name)}</legend>
        {field.choices?.map((one) => (
          <label key={one}>
            <input
              type="checkbox"
              checked={chosen.includes(one)}
              onChange={(event) => onChange(event.target.checked ? [...chosen, one] : chosen.filter((x) => x !== one))}
            />
            <span>{one}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  const options = field.type === "boolean" ? ["true", "false"] : field.choices;
  return (
    <label title={field.says}>
      <span>{fieldLabel(field.name)}</span>
      {options ? (
        <select className="field" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{usual}</option>
          {options.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <input
          className="field"
          type={field.type === "integer" || field.type === "number" ? "number" : "text"}
          step={field.type === "integer" ? 1 : "any"}
          min={field.least}
          max={field.most}
          placeholder={usual}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </label>
  );
}

const subject = (task: Task): string => (typeof task.args?.study === "string" ? task.args.study : task.name);
const progress = (task: Task): string =>
  task.state === "running" && task.total > 0 ? `${Math.round((task.done / task.total) * 100)} %` : task.state;

function took(task: Task): number | null {
  const [from, to] = [parseTime(task.started_at), parseTime(task.finished_at)];
  return from === null || to === null ? null : (to - from) / 1000;
}

const columns: Column<Task>[] = [
  { key: "id", header: "#", numeric: true, value: (t) => t.task_id, width: 56 },
  { key: "what", header: "Task", value: subject },
  {
    key: "state",
    header: "State",
    value: (t) => t.state,
    render: (t) => <span className={t.state === "failed" ? "alarm" : undefined}>{progress(t)}</span>,
  },
  {
    key: "at",
    header: `Submitted, ${ZONE}`,
    numeric: true,
    value: (t) => t.created_at,
    render: (t) => {
      const ms = parseTime(t.created_at);
      return ms === null ? "–" : moment(ms, Date.now());
    },
  },
  { key: "took", header: "took", numeric: true, value: took, render: (t) => duration(took(t)) },
];

export function LabPage() {
  const search = useSearch({ from: "/lab" });
  const navigate = useNavigate({ from: "/lab" });
  const queries = useQueryClient();
  const [asking, setAsking] = useState<StudyCard | null>(null);
  const tasks = useQuery({
    ...tasksQuery(),
    enabled: search.view !== "noise",
    refetchInterval: ({ state }) => (state.data?.items.some((task) => !isOver(task)) ? 2000 : 15_000),
  });
  const mine = tasks.data?.items.filter((task) => /^(sim|routing|demo)\./.test(task.name)) ?? [];
  const shown = search.task ?? mine[0]?.task_id;
  const open = (task: number) => void navigate({ search: { task }, replace: true });
  const cancel = useMutation({
    mutationFn: cancelTask,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["tasks"] }),
  });
  return (
    <div className="estimate-page">
      <div className="context">
        <h1>Lab</h1>
        <span className="tag">simulated</span>
        <span className="subtitle">published studies, run again here; a result's address can be shared</span>
        <span className="spacer" />
        <Segmented
          label="Show"
          value={search.view ?? "studies"}
          options={[
            { value: "studies", label: "Studies" },
            { value: "noise", label: "Measured and simulated noise" },
          ]}
          onChange={(view) => void navigate({ search: view === "noise" ? { view } : {} })}
        />
      </div>
      {search.view === "noise" ? (
        <NoisePanel />
      ) : (
        <div className="estimate-main lab-main">
          {/* A box that scrolls must be reachable by keyboard. */}
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <section className="card lab-cards" aria-label="Studies" tabIndex={0}>
            <div>
              <h2 className="block-title">What if</h2>
              <div className="lab-grid">
                <button
                  className="lab-card"
                  onClick={() => void navigate({ search: (old) => ({ ...old, replay: "on" }), replace: true })}
                >
                  <strong>Replay with another placement</strong>
                  <span>Replay the jobs of a past moment with one of them placed or routed differently.</span>
                </button>
              </div>
            </div>
            {STUDIES.map((group) => (
              <div key={group.source}>
                <h2 className="block-title">{group.source}</h2>
                <div className="lab-grid">
                  {group.cards.map((card) => (
                    <button key={card.study} className="lab-card" onClick={() => setAsking(card)}>
                      <strong>{card.title}</strong>
                      <span>{card.asks}</span>
                    </button>
                  ))}
                </div>
              </div>
            ))}
          </section>
          <div className="estimate-side">
            <section className="card lab-tasks" aria-label="Tasks">
              <div className="card-head">
                <div className="card-title">
                  <h2>Tasks</h2>
                  <span className="subtitle">newest first</span>
                </div>
                <TableExport name="tasks" source={address("/tasks")} rows={mine} columns={columns} />
              </div>
              {tasks.error && !tasks.data ? (
                <Failure error={tasks.error} retry={() => void tasks.refetch()} />
              ) : !tasks.data ? (
                <Waiting what="the tasks" />
              ) : mine.length ? (
                <DataTable
                  label="Tasks"
                  rows={mine}
                  columns={columns}
                  id={(t) => String(t.task_id)}
                  current={shown === undefined ? null : String(shown)}
                  onPick={(t) => open(t.task_id)}
                />
              ) : (
                <Empty title="No tasks yet">Choose a study.</Empty>
              )}
            </section>
            {shown !== undefined && (
              <TaskPanel key={shown} id={shown} named={shown === search.task} onCancel={() => cancel.mutate(shown)} />
            )}
          </div>
        </div>
      )}
      {search.replay && (
        <WhatIfDialog
          search={search}
          onClose={() => void navigate({ search: (old) => ({ task: old.task }), replace: true })}
          onStarted={(task) => open(task)}
        />
      )}
      {asking && (
        <StudyDialog
          card={asking}
          onClose={() => setAsking(null)}
          onStarted={(task) => {
            setAsking(null);
            void queries.invalidateQueries({ queryKey: ["tasks"] });
            open(task.task_id);
          }}
        />
      )}
    </div>
  );
}
