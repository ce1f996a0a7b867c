/** Verdicts on runs that the reader measured: two files go up, a task judges them, and the estimate opens. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type FormEvent } from "react";
import * as v from "valibot";
import { cancelTask, isOver, startTaskWithFiles, taskError, taskQuery } from "../../api/tasks";
import { AccessButton, useLacking } from "../../components/buttons";
import { Failure } from "../../components/Notice";

const FILES = [
  { key: "runs", label: "Runs", columns: "run,start,time_s" },
  { key: "exposure", label: "Exposure", columns: "run,user,amount" },
] as const;
const resultShape = v.object({ estimate_id: v.number() });

export function OwnRuns() {
  const lacking = useLacking("tasks");
  const [files, setFiles] = useState<Partial<Record<(typeof FILES)[number]["key"], File>>>({});
  const [name, setName] = useState("");
  const { start, task, cancel } = useOwnRuns();
  const going = start.isPending || (task !== null && !isOver(task));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (files.runs && files.exposure) start.mutate({ files: [files.runs, files.exposure], name: name.trim() });
  };
  return (
    <section className="card own-runs" aria-label="Verdicts on your own runs">
      <div className="card-title">
        <h2>Verdicts on your own runs</h2>
        <span className="subtitle">from two CSV files, of any machine</span>
      </div>
      <p className="muted">
        The first file has one line per run, with its name, start and time in seconds. You can add its number of nodes,
        and other numbers that may slow it. The second file has one line per run and user alongside it, with the amount.
        Everyone on this site can read the verdicts. Only you and operators see the names of users and runs. The files
        are deleted when the verdicts are ready.
      </p>
      <form className="form own-runs-form" onSubmit={submit}>
        {FILES.map(({ key, label, columns }) => (
          <label key={key}>
            <span>
              {label} <code>{columns}</code>
            </span>
            <input
              className="field"
              type="file"
              required
              disabled={lacking !== null || going}
              accept=".csv,.txt,.gz,.bz2,.xz,.zst,text/csv"
              onChange={({ target }) => setFiles((old) => ({ ...old, [key]: target.files?.[0] }))}
            />
          </label>
        ))}
        <label>
          <span>Name of the set</span>
          <input
            className="field"
            required
            maxLength={200}
            pattern="[^/]*[^/\s][^/]*"
            title="Any name without slashes"
            placeholder="milc, autumn"
            disabled={lacking !== null || going}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
        <AccessButton need="tasks" type="submit" className="button primary" disabled={going}>
          Compute verdicts
        </AccessButton>
      </form>
      <div aria-live="polite">
        {start.isPending && <p className="muted">Sending the files…</p>}
        {task && !isOver(task) && (
          <div className="own-runs-progress">
            <progress
              className="progress"
              aria-label="Progress"
              max={Math.max(1, task.total)}
              value={task.total > 0 ? task.done : undefined}
            />
            <span className="muted">
              {task.state === "queued" ? "waiting for a worker" : task.message || "reading the files"}
            </span>
            <button className="button" disabled={task.cancel_requested} onClick={() => cancel.mutate(task.task_id)}>
              {task.cancel_requested ? "Stopping…" : "Cancel"}
            </button>
          </div>
        )}
        {task?.state === "cancelled" && <p className="muted">Cancelled. The files were deleted.</p>}
      </div>
      {task?.state === "failed" && (
        <p className="alarm" role="alert">
          {taskError(task)}
        </p>
      )}
      {start.error && <Failure error={start.error} line />}
      {cancel.error && <Failure error={cancel.error} line />}
      <p className="muted">
        A verdict shows whose presence coincides with slow runs. It does not prove a cause. With fewer than 20 runs, the
        verdict is “cannot tell”.
      </p>
    </section>
  );
}

/** Uploading, the task and its end: then the estimate is listed and opened. */
function useOwnRuns() {
  const queries = useQueryClient();
  const navigate = useNavigate({ from: "/blame" });
  const [begun, setBegun] = useState<{ task: number; name: string } | null>(null);
  const start = useMutation({
    mutationFn: ({ files, name }: { files: File[]; name: string }) =>
      startTaskWithFiles("ml.blame_measured", files, ([runs, exposure]) => ({ name, runs, exposure })),
    onMutate: () => setBegun(null),
    onSuccess: (task, { name }) => setBegun({ task: task.task_id, name }),
  });
  const cancel = useMutation({
    mutationFn: cancelTask,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["tasks"] }),
  });
  const answer = useQuery({
    ...taskQuery(begun?.task ?? 0),
    enabled: begun !== null,
    refetchInterval: ({ state }) => (state.data && isOver(state.data) ? false : 1000),
  });
  const task = begun !== null && answer.data?.task_id === begun.task ? answer.data : null;
  const done = task?.state === "succeeded" && v.is(resultShape, task.result);
  const name = begun?.name;
  useEffect(() => {
    if (!done || name === undefined) return;
    void queries.invalidateQueries({ queryKey: ["estimates"] }).then(async () => {
      await navigate({ search: { exe: name } });
      setBegun(null);
      window.scrollTo({ top: 0 });
    });
  }, [done, name, queries, navigate]);
  return { start, task, cancel };
}
