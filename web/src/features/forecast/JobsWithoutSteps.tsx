/** Running jobs that record no steps: how long each takes in all, by jobs of its like that lasted as long. */
import { useQuery } from "@tanstack/react-query";
import type { CSSProperties } from "react";
import { Link } from "@tanstack/react-router";
import { runningJobsQuery } from "../../api/estimates";
import type { RunningJob } from "../../api/estimateShapes";
import { TableExport } from "../../components/TableExport";
import { type Column, DataTable } from "../../components/DataTable";
import { refused, Unanswered, Waiting } from "../../components/Notice";
import { count, duration, plural } from "../../lib/format";
import { heldText, restsOnText, runTimeText } from "./texts";
import { address } from "../../api/client";

const columns: Column<RunningJob>[] = [
  {
    key: "job",
    header: "Job",
    value: (j) => j.job_id,
    render: (j) => (
      <Link to="/jobs/$job" params={{ job: j.job_id }}>
        {j.job_id}
      </Link>
    ),
  },
  { key: "name", header: "Name", value: (j) => j.name },
  { key: "user", header: "User", value: (j) => j.user },
  { key: "nodes", header: "nodes", numeric: true, value: (j) => j.nodes, render: (j) => count(j.nodes) },
  {
    key: "elapsed",
    header: "so far",
    numeric: true,
    value: (j) => j.run_time.elapsed_s,
    render: (j) => duration(j.run_time.elapsed_s),
  },
  {
    key: "expected",
    header: "in all, 90 %",
    numeric: true,
    value: (j) => j.run_time.expected_s,
    render: ({ run_time }) =>
      run_time.expected_s === null ? (
        <span className="muted" title={runTimeText(run_time)}>
          cannot tell
        </span>
      ) : (
        `${duration(run_time.expected_s)} (${duration(run_time.low_s)} to ${duration(run_time.high_s)})`
      ),
  },
  {
    key: "held",
    header: "interval held",
    numeric: true,
    value: (j) => j.run_time.coverage90,
    render: (j) => heldText(j.run_time),
  },
  {
    key: "why",
    header: "Rests on",
    value: (j) => j.run_time.rests_on ?? j.run_time.lacks,
    render: (j) => (
      <span className="muted" title={j.run_time.rests_on ?? undefined}>
        {restsOnText(j.run_time)}
      </span>
    ),
  },
];

export function JobsWithoutSteps({ machine }: { machine: string | undefined }) {
  const answer = useQuery(runningJobsQuery(machine));
  const jobs = answer.data?.items ?? [];
  if (refused([answer]))
    return (
      <section className="card forecast-note without-steps" aria-label="Jobs without steps">
        <Unanswered line what="jobs without steps" asked={[answer]} />
      </section>
    );
  if (answer.isPending)
    return (
      <section className="card forecast-note without-steps" aria-label="Jobs without steps">
        <Waiting what="jobs without steps" />
      </section>
    );
  if (!jobs.length) return null;
  return (
    <section
      className="card forecast-runs without-steps"
      aria-label="Jobs without steps"
      style={{ "--rows": Math.min(6, jobs.length) } as CSSProperties}
    >
      <div className="card-head">
        <div className="card-title">
          <h2>Jobs without steps</h2>
          <span className="subtitle">{plural(jobs.length, "job")}, largest first · time from similar jobs</span>
        </div>
        <TableExport
          name="jobs-without-steps"
          source={address("/forecasts/jobs", { limit: 50, fabric: machine })}
          rows={jobs}
          columns={columns}
        />
      </div>
      <DataTable label="Jobs without steps" rows={jobs} columns={columns} id={(j) => j.job_id} />
    </section>
  );
}
