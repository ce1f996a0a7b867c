/** One run: its steps, the usual, and the band over the steps to come. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { runForecastQuery } from "../../api/estimates";
import type { RunForecast } from "../../api/estimateShapes";
import { BaseAxis, ValueAxis } from "../../charts/axis";
import { useSize } from "../../charts/Canvas";
import { forecastLayout } from "../../charts/forecast";
import type { Column } from "../../components/DataTable";
import { Failure, Waiting } from "../../components/Notice";
import { PictureCard } from "../../components/PictureCard";
import { count, plural, ratio } from "../../lib/format";
import { applicationText } from "../estimates/applications";
import { nextText } from "./texts";
import { address } from "../../api/client";

interface Row {
  step: number;
  time: number | null;
  usual: number | null;
  expected: number | null;
  low: number | null;
  high: number | null;
}

function rowsOf({ observed, band }: RunForecast): Row[] {
  const rows = new Map<number, Row>();
  const row = (step: number) => {
    const found = rows.get(step) ?? { step, time: null, usual: null, expected: null, low: null, high: null };
    rows.set(step, found);
    return found;
  };
  observed.step.forEach((step, i) =>
    Object.assign(row(step), { time: observed.time_s[i] ?? null, usual: observed.usual_s[i] ?? null }),
  );
  band?.step.forEach((step, i) =>
    Object.assign(row(step), {
      expected: band.expected_s[i] ?? null,
      low: band.low_s[i] ?? null,
      high: band.high_s[i] ?? null,
    }),
  );
  return [...rows.values()].sort((a, b) => a.step - b.step);
}

const cell = (key: keyof Row, header: string): Column<Row> => ({
  key,
  header,
  numeric: true,
  value: (r) => r[key],
  render: (r) => (key === "step" ? r.step : ratio(r[key])),
});
const columns = [
  cell("step", "step"),
  cell("time", "time, s"),
  cell("usual", "usual, s"),
  cell("expected", "expected, s"),
  cell("low", "low, 90 %"),
  cell("high", "high, 90 %"),
];

export function RunBand({ run }: { run: number }) {
  const answer = useQuery(runForecastQuery(run));
  const forecast = answer.data;
  const rows = useMemo(() => (forecast ? rowsOf(forecast) : []), [forecast]);
  if (answer.error && !forecast)
    return (
      <section className="card" aria-label="Run">
        <Failure error={answer.error} retry={() => void answer.refetch()} />
      </section>
    );
  if (!forecast)
    return (
      <section className="card" aria-label="Run">
        <Waiting what="the run" />
      </section>
    );
  const newest = forecast.newest;
  return (
    <PictureCard
      title={forecast.job_id === null ? `Run ${run}` : `Job ${forecast.job_id}`}
      name={`forecast-run-${run}`}
      source={address(`/runs/${run}/forecast`)}
      className="run-band"
      rows={rows}
      columns={columns}
      id={(r) => String(r.step)}
      note={
        !forecast.running
          ? "ended: its last forecast"
          : newest
            ? nextText(newest)
            : (forecast.lacks ?? `${applicationText(forecast)}: no forecast for this run`)
      }
      actions={
        forecast.job_id !== null && (
          <Link className="button" to="/jobs/$job" params={{ job: forecast.job_id }}>
            The job
          </Link>
        )
      }
    >
      <Band forecast={forecast} />
      <p className="muted chart-key">
        step time, s · grey: usual · dashed with band: forecast, 90 %
        {forecast.backtest
          ? ` · on held-out runs the error of ${forecast.backtest.forecaster} was ${forecast.backtest.mape.toFixed(1)} %`
          : ""}
      </p>
    </PictureCard>
  );
}

function Band({ forecast }: { forecast: RunForecast }) {
  const [box, size] = useSize();
  const layout = useMemo(() => {
    if (!size || size.width < 120 || size.height < 80) return null;
    const { observed, band } = forecast;
    return forecastLayout(
      {
        step: observed.step,
        time: observed.time_s,
        usual: observed.usual_s,
        band: band && { step: band.step, expected: band.expected_s, low: band.low_s, high: band.high_s },
      },
      size.width,
      size.height,
    );
  }, [forecast, size]);
  return (
    <div ref={box} className="chart-box">
      {size && layout && (
        <svg
          width={size.width}
          height={size.height}
          role="img"
          aria-label={`${plural(forecast.observed.step.length, "step")} observed${forecast.newest ? `, ${nextText(forecast.newest)}` : ""}`}
        >
          <ValueAxis ticks={layout.yTicks} y={layout.y} left={44} right={size.width - 8} />
          <BaseAxis
            ticks={layout.xTicks}
            x={layout.x}
            y={size.height - 6}
            text={(tick, i) => (i === 0 ? `step ${tick}` : count(tick))}
          />
          <path d={layout.spread} className="forecast" />
          <path d={layout.usual} className="median" />
          <path d={layout.time} className="high" />
          <path d={layout.expected} className="expected" />
        </svg>
      )}
    </div>
  );
}
