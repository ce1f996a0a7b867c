/** All jobs, newest first: filtered by the server, ordered by the address, driven by the keyboard as well. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { incidentsQuery } from "../../api/incident";
import { jobsQuery } from "../../api/queries";
import type { Job } from "../../api/shapes";
import { type Column, OrderedTable, useAddressOrder } from "../../components/DataTable";
import { saveCsv, TableExport } from "../../components/TableExport";
import { Empty, Failure, refused, Unanswered, Waiting } from "../../components/Notice";
import { Segmented } from "../../components/choices";
import { count, duration } from "../../lib/format";
import { useKeys, useTyped } from "../../lib/keys";
import { moment, parseTime, ZONE } from "../../lib/time";
import { capital } from "../../machine/words";
import { costText } from "../incidents/words";
import { COMMON_STATES, type JobState } from "../addresses";
import "./jobs.css";
import { address } from "../../api/client";

const stateText = (state: string) => state.toLowerCase().replaceAll("_", " ");

/** The states of the control; a rarer one that the address names stands among them. */
function stateOptions(chosen: JobState | undefined): { value: JobState | "all"; label: string }[] {
  const states: JobState[] = chosen === undefined ? [...COMMON_STATES] : [...new Set([...COMMON_STATES, chosen])];
  return [{ value: "all", label: "All" }, ...states.map((value) => ({ value, label: capital(stateText(value)) }))];
}

/** Jobs that are fetched for the sake of their order. */
const MOST_ORDERED = 10_000;

const time = (text: string | null) => {
  const ms = parseTime(text);
  return ms === null ? "–" : moment(ms, Date.now());
};

/** "0–3, 7": runs of group numbers. */
export function groupRuns(groups: number[]): string {
  const sorted = [...new Set(groups)].sort((a, b) => a - b);
  const runs: string[] = [];
  for (let i = 0; i < sorted.length;) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] === (sorted[j] as number) + 1) j++;
    runs.push(i === j ? String(sorted[i]) : j === i + 1 ? `${sorted[i]}, ${sorted[j]}` : `${sorted[i]}–${sorted[j]}`);
    i = j + 1;
  }
  return runs.join(", ");
}

function columnsOf(): Column<Job>[] {
  return [
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
    {
      key: "name",
      header: "Name",
      value: (j) => j.name,
      render: (j) => <span title={j.name ?? undefined}>{j.name ?? "–"}</span>,
    },
    {
      key: "user",
      header: "User",
      value: (j) => j.user,
      render: (j) =>
        j.user === null ? (
          "–"
        ) : (
          <Link to="/jobs" search={{ user: j.user }}>
            {j.user}
          </Link>
        ),
    },
    { key: "account", header: "Account", value: (j) => j.account },
    {
      key: "state",
      header: "State",
      value: (j) => j.state,
      render: (j) => (
        <span className={/FAIL|TIMEOUT|OUT_OF/.test(j.state) ? "alarm" : undefined}>{stateText(j.state)}</span>
      ),
    },
    { key: "nodes", header: "Nodes", numeric: true, value: (j) => j.nodes, render: (j) => count(j.nodes) },
    { key: "routers", header: "Routers", numeric: true, value: (j) => j.routers, render: (j) => count(j.routers) },
    { key: "groups", header: "Groups", value: (j) => groupRuns(j.groups ?? []) || null },
    { key: "start", header: `Start, ${ZONE}`, numeric: true, value: (j) => j.start, render: (j) => time(j.start) },
    {
      key: "end",
      header: `End, ${ZONE}`,
      numeric: true,
      value: (j) => j.end,
      render: (j) => (j.end ? time(j.end) : ""),
    },
    {
      key: "elapsed",
      header: "Elapsed",
      numeric: true,
      value: (j) => j.elapsed_s,
      render: (j) => duration(j.elapsed_s),
    },
    { key: "runs", header: "Runs", numeric: true, value: (j) => j.runs, render: (j) => (j.runs ? count(j.runs) : "") },
    {
      key: "machine",
      header: "Machine",
      value: (j) => j.cluster,
      render: (j) => (
        <>
          {j.cluster ?? "–"}
          {j.simulated && (
            <>
              {" "}
              <span className="tag">simulated</span>
            </>
          )}
        </>
      ),
    },
  ];
}

export function JobsPage() {
  const search = useSearch({ from: "/jobs" });
  const navigate = useNavigate({ from: "/jobs" });
  const ask = useCallback(
    (q: string) => void navigate({ search: (old) => ({ ...old, q: q || undefined }), replace: true }),
    [navigate],
  );
  const [text, setText] = useTyped(search.q ?? "", ask);
  const jobs = useInfiniteQuery(
    jobsQuery({ q: search.q, user: search.user, state: search.state, fabric: search.fabric }, 500),
  );
  const { user, fabric } = search;
  const incidents = useInfiniteQuery({ ...incidentsQuery({ user, fabric }, 1000), enabled: user !== undefined });
  const [named] = incidents.data?.pages ?? [];
  const cost = user !== undefined && named ? costText(named.items, named.next_cursor !== null) : null;
  const columns = useMemo(columnsOf, []);
  const all = useMemo(() => jobs.data?.pages.flatMap((page) => page.items) ?? [], [jobs.data]);
  const order = useAddressOrder(all, columns);
  const { rows, sort } = order;
  // By its key: jobs that start meanwhile push the rows down.
  const [chosen, choose] = useState<number | null>(null);
  const at = Math.max(
    0,
    rows.findIndex((job) => job.job_pk === chosen),
  );
  const current = rows[at];
  const bindings = useMemo(
    () => [
      { keys: "j", label: "Next job", run: () => choose((rows[at + 1] ?? current)?.job_pk ?? null) },
      { keys: "k", label: "Job before", run: () => choose((rows[at - 1] ?? current)?.job_pk ?? null) },
      {
        keys: "Enter",
        label: "Open the job",
        run: () => current && void navigate({ to: "/jobs/$job", params: { job: current.job_id } }),
      },
      { keys: "e", label: "Export as CSV", run: () => saveCsv("jobs", rows, columns) },
    ],
    [rows, at, columns, current, navigate],
  );
  useKeys("Jobs", bindings);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = jobs;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  // "Most nodes first" is true of all jobs only once all are here.
  const toOrder = sort !== null && hasNextPage && rows.length < MOST_ORDERED;
  useEffect(() => {
    if (toOrder) more();
  }, [toOrder, more]);

  return (
    <div className="jobs-page">
      <div className="context">
        <h1>Jobs</h1>
        <span className="subtitle">
          {jobs.data
            ? `${count(rows.length)}${hasNextPage ? " shown, more below" : ""}${sort ? "" : " · newest first"}`
            : ""}
        </span>
        <span className="spacer" />
        {search.user && (
          <span className="chip">
            <span className="ellipsis">user {search.user}</span>
            <button
              aria-label="All users"
              onClick={() => void navigate({ search: (old) => ({ ...old, user: undefined }) })}
            >
              ×
            </button>
          </span>
        )}
        <Segmented
          label="State"
          value={search.state ?? "all"}
          options={stateOptions(search.state)}
          onChange={(state) =>
            void navigate({ search: (old) => ({ ...old, state: state === "all" ? undefined : state }) })
          }
        />
        <input
          className="field"
          type="search"
          aria-label="Filter jobs"
          placeholder="Job, user or name"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <TableExport
          name="jobs"
          source={address("/jobs", { q: search.q, user: search.user, state: search.state, fabric: search.fabric })}
          rows={rows}
          columns={columns}
        />
      </div>
      {user !== undefined && refused([incidents]) && (
        <Unanswered line what="the user's incidents" asked={[incidents]} />
      )}
      {cost && (
        <p className="jobs-cost">
          <Link to="/incidents" search={{ user, fabric }}>
            {cost}
          </Link>
          <span className="muted"> · based on traffic and timing; not proof of cause</span>
        </p>
      )}
      <section className="card jobs-card" aria-label="Jobs">
        {jobs.error && !jobs.data ? (
          <Failure error={jobs.error} retry={() => void jobs.refetch()} />
        ) : !jobs.data || incidents.isLoading ? (
          <Waiting what="the jobs" />
        ) : !rows.length ? (
          search.q || search.user || search.state ? (
            <Empty title="No matching jobs">Use fewer words or another state.</Empty>
          ) : (
            <Empty title="No jobs yet">
              Import accounting data with <code>flitwatch import sacct FILE</code> or collect from Slurm with{" "}
              <code>flitwatch collect sacct</code>.
            </Empty>
          )
        ) : (
          <OrderedTable
            label="Jobs"
            order={order}
            columns={columns}
            id={(j) => String(j.job_pk)}
            current={current ? String(current.job_pk) : null}
            onReachEnd={more}
            onPick={(j) => choose(j.job_pk)}
          />
        )}
      </section>
    </div>
  );
}
