/** What next: running jobs and their forecasts, and how far such forecasts can be trusted. */
import { useQuery } from "@tanstack/react-query";
import type { CSSProperties } from "react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { forecastQuery, runForecastQuery, runningQuery } from "../../api/estimates";
import { fabricsQuery } from "../../api/queries";
import type { Application, Forecast, RunningRun } from "../../api/estimateShapes";
import { TableExport } from "../../components/TableExport";
import { type Column, DataTable } from "../../components/DataTable";
import { Failure, HowToRead, Waiting } from "../../components/Notice";
import { change, count, duration, plural } from "../../lib/format";
import { currentMachine, machineStore } from "../../lib/machine";
import { useStore } from "../../lib/store";
import { day, parseTime } from "../../lib/time";
import { ApplicationMenu, applicationText, Lacking, useApplication, useScope } from "../estimates/applications";
import "../estimates/estimates.css";
import { Backtests } from "./Backtests";
import "./forecast.css";
import { JobsWithoutSteps } from "./JobsWithoutSteps";
import { worseText } from "./texts";
import { RestsOn } from "./RestsOn";
import { RunBand } from "./RunBand";
import { address } from "../../api/client";

const runColumns: Column<RunningRun>[] = [
  {
    key: "job",
    header: "Job",
    value: (r) => r.job_id,
    render: (r) =>
      r.job_id === null ? (
        `run ${r.run_id}`
      ) : (
        <Link to="/jobs/$job" params={{ job: r.job_id }}>
          {r.job_id}
        </Link>
      ),
  },
  { key: "exe", header: "Application", value: (r) => applicationText(r) },
  { key: "user", header: "User", value: (r) => r.user },
  { key: "steps", header: "steps", numeric: true, value: (r) => r.steps, render: (r) => count(r.steps) },
  {
    key: "slow",
    header: "vs usual",
    numeric: true,
    value: (r) => r.newest?.slowdown,
    render: (r) =>
      r.newest ? (
        <span className={r.newest.low_s > r.newest.usual_s ? "alarm strong" : undefined}>
          {change(r.newest.slowdown)}
        </span>
      ) : (
        <span className="muted" title={r.lacks ?? ""}>
          {r.lacks ?? "–"}
        </span>
      ),
  },
  {
    key: "next",
    header: "next steps, 90 %",
    numeric: true,
    value: (r) => r.newest?.expected_s,
    render: (r) => (r.newest ? `${duration(r.newest.low_s)} to ${duration(r.newest.high_s)}` : "–"),
  },
  {
    key: "error",
    header: "backtest error",
    numeric: true,
    value: (r) => r.backtest_mape,
    render: (r) => (r.backtest_mape === null ? "–" : `${r.backtest_mape.toFixed(1)} %`),
  },
];

export function ForecastPage() {
  const search = useSearch({ from: "/forecast" });
  const navigate = useNavigate({ from: "/forecast" });
  const { list, applications, chosen } = useApplication("forecast", search);
  const everywhere = useScope();
  const scope = everywhere && search.machine ? ` · ${search.machine}` : everywhere;
  const shown = currentMachine(useQuery(fabricsQuery()).data?.items ?? [], useStore(machineStore))?.name;
  const running = useQuery(runningQuery(search.machine));
  const runs = running.data?.items ?? [];
  const run = search.run ?? runs.find((one) => one.newest !== null)?.run_id ?? runs[0]?.run_id;
  const band = useQuery({ ...runForecastQuery(run ?? 0), enabled: run !== undefined });
  const forecaster = useQuery({
    ...forecastQuery({ exe: chosen?.exe ?? "", nodes: chosen?.nodes ?? 0 }),
    enabled: chosen?.forecast.estimate_id != null,
  });
  // What is below the run, and next to it, waits for what is above: cards that come one by one push each other down.
  const above = !running.isPending && (run === undefined || !band.isPending) && !forecaster.isLoading;
  if (list.error && !list.data) return <Failure page error={list.error} retry={() => void list.refetch()} />;
  if (!list.data) return <Waiting what="the forecasts" />;
  const nothing =
    running.data &&
    !runs.length &&
    !applications.some((one) => one.forecast.estimate_id !== null) &&
    search.run === undefined;
  const choose = (one: Application) => void navigate({ search: (old) => ({ ...old, exe: one.exe, nodes: one.nodes }) });
  return (
    <div className="estimate-page">
      <div className="context">
        <h1>Forecast</h1>
        {(chosen?.simulated || runs.some((one) => one.simulated)) && <span className="tag">simulated</span>}
        <span className="subtitle">
          {running.data ? `${plural(runs.length, "instrumented job")} running${scope}` : ""}
        </span>
        <span className="spacer" />
        {everywhere && (
          <Link
            className="button"
            to="/forecast"
            search={(old) => ({ ...old, machine: search.machine ? undefined : shown, run: undefined })}
          >
            {search.machine ? "All machines" : `Only ${shown}`}
          </Link>
        )}
        <ApplicationMenu applications={applications} kind="forecast" chosen={chosen} onChoose={choose} />
      </div>
      {nothing ? (
        <>
          <section className="card estimate-empty">
            <Lacking what="forecasts" all={applications.map((one) => ({ ...one, lacks: one.forecast.lacks }))} />
          </section>
          <JobsWithoutSteps machine={search.machine} />
        </>
      ) : (
        <div className="estimate-main">
          <div className="estimate-left">
            <section
              className="card forecast-runs"
              aria-label="Running jobs"
              style={{ "--rows": Math.min(6, Math.max(1, runs.length)) } as CSSProperties}
            >
              <div className="card-head">
                <div className="card-title">
                  <h2>Running jobs</h2>
                  <span className="subtitle">predicted slowest first</span>
                </div>
                <TableExport
                  name="running-jobs"
                  source={address("/forecasts", { limit: 200, fabric: search.machine })}
                  rows={runs}
                  columns={runColumns}
                />
              </div>
              {running.error && !running.data ? (
                <Failure error={running.error} retry={() => void running.refetch()} />
              ) : !running.data ? (
                <Waiting what="the running jobs" />
              ) : runs.length ? (
                <DataTable
                  label="Running jobs"
                  rows={runs}
                  columns={runColumns}
                  id={(r) => String(r.run_id)}
                  current={run === undefined ? null : String(run)}
                  onPick={(r) => void navigate({ search: (old) => ({ ...old, run: r.run_id }), replace: true })}
                />
              ) : (
                <p className="muted forecast-note">No running job records steps.</p>
              )}
            </section>
            {run !== undefined && <RunBand run={run} />}
            {above && chosen?.forecast.estimate_id != null && (
              <Backtests key={`${chosen.exe} ${chosen.nodes}`} application={chosen} />
            )}
          </div>
          {above && (
            <div className="estimate-side">
              {chosen && <Trust key={`${chosen.exe} ${chosen.nodes}`} application={chosen} />}
              <HowToRead
                lines={[
                  <>
                    The band holds the time of the next steps, summed, in 90 of 100 cases; coverage says how often it
                    did on runs held out.
                  </>,
                  <>
                    The average of trees with two nets serves, unless another candidate is better on earlier blocks
                    beyond chance; every rival is in the table.
                  </>,
                  <>
                    “vs usual” is the expected time over that of the mean run for the same steps; it is marked when the
                    whole band lies above the usual.
                  </>,
                ]}
                not="A forecast extrapolates past steps. It does not know of jobs that start later or of changes in the program, and it names no cause."
              />
              {chosen?.forecast.estimate_id != null && (
                <RestsOn key={`rests ${chosen.exe} ${chosen.nodes}`} application={chosen} />
              )}
            </div>
          )}
        </div>
      )}
      {!nothing && above && <JobsWithoutSteps machine={search.machine} />}
    </div>
  );
}

function Trust({ application }: { application: Application }) {
  const answer = useQuery({
    ...forecastQuery({ exe: application.exe, nodes: application.nodes }),
    enabled: application.forecast.estimate_id !== null,
  });
  if (application.forecast.estimate_id === null)
    return (
      <section className="card">
        <Lacking what="a forecast" all={[{ ...application, lacks: application.forecast.lacks }]} />
      </section>
    );
  if (answer.error && !answer.data)
    return (
      <section className="card">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!answer.data)
    return (
      <section className="card">
        <Waiting what="the backtest" />
      </section>
    );
  return <Serving forecast={answer.data} />;
}

const share = (value: number | null) => (value === null ? "unknown" : `${Math.round(value * 100)} %`);

function Serving({ forecast: { estimate, serves, drift, notes } }: { forecast: Forecast }) {
  const shifted = drift
    ? Object.entries(drift.psi)
        .filter(([, psi]) => psi > 0.25)
        .map(([name]) => name)
    : [];
  const worse = drift && worseText(drift, serves.mape);
  return (
    <section className="card" aria-label="Forecaster">
      <div className="card-head">
        <div className="card-title">
          <h2>{applicationText(estimate)}</h2>
          <span className="subtitle">
            {plural(estimate.runs, "run")} · estimated {day(parseTime(estimate.created) ?? 0, true)}
          </span>
        </div>
      </div>
      <dl className="facts">
        <dt>Serves</dt>
        <dd>
          {serves.forecaster} · last {serves.m} steps, next {serves.k} · {serves.features.replaceAll("+", " + ")}
        </dd>
        <dt>Why</dt>
        <dd>{serves.why}</dd>
        <dt>Backtest error</dt>
        <dd>{serves.mape.toFixed(1)} % on held-out runs</dd>
        <dt>90 % band, coverage</dt>
        <dd>{share(serves.coverage90)}</dd>
        <dt>Since then</dt>
        <dd>
          {drift === null ? (
            "no outcomes yet"
          ) : (
            <>
              {plural(drift.forecasts, "forecast")}: band coverage {share(drift.coverage90)}, error{" "}
              {drift.mape === null ? "unknown" : `${drift.mape.toFixed(1)} %`}
              {drift.drifting ? (
                <span className="alarm"> · {drift.why ?? `inputs have shifted: ${shifted.join(", ")}`}</span>
              ) : worse ? (
                <span className="alarm"> · {worse}; the inputs have not shifted</span>
              ) : (
                " · no drift"
              )}
            </>
          )}
        </dd>
        {notes.map((note) => (
          <NoteLine key={note} note={note} />
        ))}
      </dl>
    </section>
  );
}

const NoteLine = ({ note }: { note: string }) => (
  <>
    <dt>Note</dt>
    <dd>{note}</dd>
  </>
);
