import type { Run } from "../../api/shapes";
import type { RunVerdict, StepSeries } from "../../charts/steps";
import { csv, save } from "../../lib/csv";
import { change, count, plural, ratio } from "../../lib/format";
import { StepChart } from "./StepChart";

interface Props {
  run: Run | null;
  series: StepSeries | null;
  figures: RunVerdict | null;
  compare: string | undefined;
}

export function RunCard({ run, series, figures, compare }: Props) {
  if (!run) {
    return (
      <section className="card job-note" aria-label="Steps">
        <h2 className="block-title">No steps are recorded</h2>
        <p className="muted">The application did not write AriesNCL files, so the page compares whole jobs and the stalls on their routers. With steps it also shows when the job slowed down.</p>
      </section>
    );
  }
  const range = series?.p10 ? "grey: 10–90 % and mean of other runs of the same program and size" : "no other run of the same program and size";
  const rows = series ? series.step.map((step, i) => [step, series.time[i], series.mean?.[i], series.p10?.[i], series.p90?.[i]]) : [];
  return (
    <section className="card job-steps" aria-label="Step time">
      <div className="card-head">
        <h2>Step time, s</h2>
        <span className="subtitle">{run.exe} · {plural(run.ranks ?? 0, "rank")} · {range}{compare ? ` · dashed: run ${compare}` : ""}</span>
        <span className="spacer" />
        {figures?.slowFactor != null && figures.slowFrom !== null && <span className="subtitle">since step {count(figures.slowFrom)}: {change(figures.slowFactor)}</span>}
        {series && <button className="button plain" onClick={() => save(`run-${run.run_id}-steps.csv`, csv(["step", "time_s", "mean_time_s", "p10_s", "p90_s"], rows))}>CSV</button>}
      </div>
      {series ? <StepChart series={series} slowFrom={figures?.slowFactor != null && figures.slowFactor >= 1.1 ? figures.slowFrom : null} label={`Time of ${plural(series.step.length, "step")}, mean ${ratio(figures?.mean)} s`} /> : <p className="muted job-note">Loading steps…</p>}
    </section>
  );
}
