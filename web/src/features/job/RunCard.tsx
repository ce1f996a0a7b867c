import { useQuery } from "@tanstack/react-query";
import { runForecastQuery } from "../../api/estimates";
import { runStepsQuery } from "../../api/queries";
import type { Run } from "../../api/shapes";
import { type RunVerdict, type StepClock, stepRows, type StepSeries } from "../../charts/steps";
import { AlertMe } from "../alerts/AlertMe";
import type { Column } from "../../components/DataTable";
import { refused, Unanswered } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { change, count, plural, ratio } from "../../lib/format";
import { nextText } from "../forecast/texts";
import { type Onset, StepChart } from "./StepChart";
import { address } from "../../api/client";

interface Props {
  run: Run | null;
  /** Whether steps are still to come: a finished run has no forecast. */
  running: boolean;
  series: StepSeries | null;
  figures: RunVerdict | null;
  compare: string | undefined;
  /** When the steps were. */
  time: StepClock | undefined;
  onset: Onset | null;
}

type Row = ReturnType<typeof stepRows>[number];

const cell = (key: string, header: string, value: (row: Row) => number | null): Column<Row> => ({
  key,
  header,
  numeric: true,
  value,
  render: (row) => ratio(value(row)),
});

function columnsOf(series: StepSeries): Column<Row>[] {
  return [
    { key: "step", header: "step", numeric: true, value: (r) => r.step },
    cell("time", "time, s", (r) => r.time),
    cell("mean", "mean of others, s", (r) => r.mean),
    cell("p10", "10 %", (r) => r.p10),
    cell("p90", "90 %", (r) => r.p90),
    ...series.others.map((other, i) => cell(other.label, other.label, (r) => r.others[i] ?? null)),
    ...(series.ahead
      ? [
          cell("expected", "forecast, s", (r) => r.expected),
          cell("low", "low, 90 %", (r) => r.low),
          cell("high", "high, 90 %", (r) => r.high),
        ]
      : []),
  ];
}

export function RunCard({ run, running, series, figures, compare, time, onset }: Props) {
  const answer = useQuery({ ...runForecastQuery(run?.run_id ?? 0), enabled: running && run !== null });
  const forecast = running ? answer.data : undefined;
  const steps = useQuery({ ...runStepsQuery(run?.run_id ?? 0), enabled: run !== null });
  if (!run) {
    return (
      <section className="card job-note" aria-label="Steps">
        <h2 className="block-title">No steps are recorded</h2>
        <p className="muted">
          The application did not write AriesNCL files, so the page compares whole jobs and the stalls on their routers.
          With steps, it also shows when the job slowed down.
        </p>
      </section>
    );
  }
  if (!series)
    return (
      <section className="card job-steps" aria-label="Step time, s">
        <Unanswered what="the steps" asked={[steps]} />
      </section>
    );
  const range = series.p10 ? "grey: 10–90 % and mean of other runs" : "no other run of the same program and size";
  const since =
    figures?.slowFactor != null && figures.slowFrom !== null
      ? ` · since step ${count(figures.slowFrom)}: ${change(figures.slowFactor)}`
      : "";
  return (
    <PictureCard
      title="Step time, s"
      name={`run-${run.run_id}-steps`}
      source={address(`/runs/${run.run_id}/steps`)}
      className="job-steps"
      rows={stepRows(series)}
      columns={columnsOf(series)}
      id={(r) => String(r.step)}
      actions={
        time && (
          <AlertMe watched={() => ({ signal: "slowdown", where: { exe: run.exe }, samples: [], span: time.span })} />
        )
      }
      note={`${run.exe} · ${plural(run.ranks ?? 0, "rank")} · ${range}${compare ? ` · dashed: run ${compare}` : ""}${since}`}
    >
      <StepChart
        series={series}
        time={time}
        onset={onset}
        label={`Time of ${plural(series.step.length, "step")}, mean ${ratio(figures?.mean)} s`}
      />
      {refused([answer]) && <Unanswered line what="the forecast" asked={[answer]} />}
      {forecast?.newest && (
        <p className="muted chart-key">
          blue: {nextText(forecast.newest)}
          {forecast.backtest ? ` · error on held-out runs ${forecast.backtest.mape.toFixed(1)} %` : ""}
        </p>
      )}
    </PictureCard>
  );
}
