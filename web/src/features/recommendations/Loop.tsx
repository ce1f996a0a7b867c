/** The loop: simulate, count, reconstruct, optimise, simulate again; its progress, and a new turn of it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { cancelTask, isOver, startTask, tasksQuery, type Task } from "../../api/tasks";
import { AccessButton } from "../../components/buttons";
import { Unanswered } from "../../components/Notice";
import { Dialog, DialogEnd } from "../../components/Dialog";
import { duration } from "../../lib/format";
import { moment, parseTime } from "../../lib/time";

const PATTERNS = [
  "bisection-shuffle",
  "noisy-shuffle",
  "bisection",
  "shift",
  "stencil3d",
  "alltoall",
  "lulesh-512",
  "partisn-168",
  "amg-1728",
  "irregular-70",
];
const STAGES = ["loaded routes", "adaptive routing", "reconstruct", "optimise", "new routes", "score"];
const SHOWN = 4;

export function Loop() {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const tasks = useQuery({
    ...tasksQuery(),
    refetchInterval: ({ state }) => (state.data?.items.some((task) => !isOver(task)) ? 2000 : 15_000),
  });
  const cancel = useMutation({
    mutationFn: cancelTask,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["tasks"] }),
  });
  const mine = tasks.data?.items.filter((task) => task.name === "routing.loop").slice(0, SHOWN) ?? [];
  return (
    <section className="card loop-card" aria-label="Loop">
      <div className="card-head">
        <div className="card-title">
          <h2>The loop</h2>
          <span className="subtitle">counters → traffic → routes → simulation</span>
        </div>
        <AccessButton need="tasks" className="button primary" onClick={() => setAsking(true)}>
          Run it…
        </AccessButton>
      </div>
      {cancel.error && (
        <p className="alarm card-note" role="alert">
          {cancel.error.message}
        </p>
      )}
      {mine.length ? (
        mine.map((task) => <Turn key={task.task_id} task={task} onCancel={() => cancel.mutate(task.task_id)} />)
      ) : !tasks.data ? (
        <Unanswered what="the runs of the loop" asked={[tasks]} />
      ) : (
        <p className="muted card-note">
          No loop has run yet. A loop simulates a pattern on a fabric, reconstructs the traffic only from the counters,
          computes new routes, and simulates again.
        </p>
      )}
      {asking && <Ask onClose={() => setAsking(false)} />}
    </section>
  );
}

function Turn({ task, onCancel }: { task: Task; onCancel: () => void }) {
  const over = isOver(task);
  const asked = parseTime(task.created_at);
  const [from, to] = [parseTime(task.started_at), parseTime(task.finished_at)];
  const what = [task.args?.pattern, task.args?.topology ?? "quartz1"]
    .filter((word) => typeof word === "string")
    .join(" on ");
  const state = `${task.state}${task.message && !over ? ` · ${task.message}` : ""}`;
  const title = what || `task ${task.task_id}`;
  return (
    <div className="loop-turn">
      <div className="card-line">
        <span className="ellipsis" title={`${title} ${state}`}>
          <strong>{title}</strong> <span className="muted">{state}</span>
        </span>
        <span className="muted">
          {over
            ? from !== null && to !== null
              ? duration((to - from) / 1000)
              : ""
            : asked === null
              ? ""
              : moment(asked, Date.now())}
        </span>
        {!over && (
          <AccessButton need="tasks" compact className="button" onClick={onCancel} disabled={task.cancel_requested}>
            {task.cancel_requested ? "Stopping…" : "Cancel"}
          </AccessButton>
        )}
      </div>
      {!over && task.total > 0 && task.total !== STAGES.length && (
        <progress className="progress" aria-label="Progress" max={task.total} value={task.done} />
      )}
      {!over && (task.total === 0 || task.total === STAGES.length) && (
        <ol className="loop-stages" aria-label={`${task.done} of ${STAGES.length} stages done`}>
          {STAGES.map((stage, i) => (
            <li
              key={stage}
              data-state={i < task.done ? "done" : i === task.done && task.state === "running" ? "now" : undefined}
            >
              {stage}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Ask({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [pattern, setPattern] = useState("bisection-shuffle");
  const [seed, setSeed] = useState("1");
  const [epochs, setEpochs] = useState("1");
  const [slots, setSlots] = useState("1");
  const [seconds, setSeconds] = useState("30");
  const start = useMutation({
    mutationFn: () =>
      startTask("routing.loop", {
        pattern,
        seed: Number(seed),
        epochs: Number(epochs),
        slots: Number(slots),
        optimise_s: Number(seconds),
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["tasks"] });
      onClose();
    },
  });
  const number = (label: string, value: string, set: (text: string) => void, min: number, max: number) => (
    <label>
      {label}
      <input
        className="field"
        type="number"
        min={min}
        max={max}
        value={value}
        onChange={(event) => set(event.target.value)}
        required
      />
    </label>
  );
  return (
    <Dialog open title="Run the loop on quartz1 (simulated)" onClose={onClose}>
      <form
        className="form rows"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <label>
          Pattern
          <select className="field" value={pattern} onChange={(event) => setPattern(event.target.value)}>
            {PATTERNS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {number("Seed", seed, setSeed, 0, 1e9)}
        {number("Sensing epochs", epochs, setEpochs, 1, 64)}
        {number("Time slots", slots, setSlots, 1, 64)}
        {number("Seconds for the optimiser", seconds, setSeconds, 1, 3600)}
        <p className="muted">
          The reconstruction gets counters alone; the true traffic is known to the simulator and the score. With several
          time slots it gets them of equal parts of the jobs' progress, and routes suit every part.
        </p>
        <DialogEnd error={start.error} onClose={onClose}>
          <button type="submit" className="button primary" disabled={start.isPending}>
            Run
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}
