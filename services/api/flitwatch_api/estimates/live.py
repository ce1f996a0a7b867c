"""Responses about running jobs and runs: forecasts, and comparisons for jobs without recorded steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from flitwatch_api.answers import build_model
from flitwatch_api.estimates import schemas
from flitwatch_api.names import Names
from flitwatch_db.core.columns import Connection
from flitwatch_db.estimates import reads
from flitwatch_db.jobs import reads as jobs
from flitwatch_db.runs import reads as runs
from flitwatch_domain.errors import NotFound
from flitwatch_domain.run_time import run_time

#: Stalls are taken over the job's last minutes: long enough for a steady ratio, short enough to be current.
STALLS_MINUTES = 15
MOST_NEIGHBOURS = 20
#: Maximum age of recent steps, and most running jobs compared: each costs a query.
RECENT_S, MOST_COMPARED = 1800, 100
NO_MODEL = "no forecaster is trained on this application yet"


def _next_steps(row: reads.Row) -> schemas.NextSteps:
    shown = {key: value for key, value in row.items() if key not in ("run_id", "curve_s")}
    return build_model(schemas.NextSteps, shown, slowdown=row["expected_s"] / row["usual_s"])


async def list_running_runs(conn: Connection, names: Names, limit: int, fabric_id: int | None) -> schemas.RunningList:
    """List running instrumented jobs, those with the slowest forecast first."""
    rows = await reads.list_running_runs(conn, limit, fabric_id)
    forecasts_by_run = await reads.newest_forecasts(conn, [row["run_id"] for row in rows])
    models: dict[tuple[str, int], reads.Row | None] = {}
    items = []
    for row in rows:
        key = row["exe"], row["nodes"]
        if key not in models:
            models[key] = await reads.find_estimate_state(conn, "forecast", *key)
        newest = forecasts_by_run.get(row["run_id"])
        items.append(
            build_model(
                schemas.Running,
                row,
                exe=names.path(row["exe"]),
                user=None if row["user"] is None else names.user(row["user"]),
                newest=None if newest is None else _next_steps(newest),
                backtest_mape=await _backtest_mape(conn, newest),
                lacks=None if newest is not None else _missing_reason(models[key], row["steps"]),
            )
        )
    items.sort(key=lambda item: -item.newest.slowdown if item.newest else math.inf)
    return build_model(schemas.RunningList, items=items)


async def _backtest_mape(conn: Connection, newest: reads.Row | None) -> float | None:
    serves = await _load_serving(conn, newest)
    return None if serves is None else serves.mape


async def _load_serving(conn: Connection, newest: reads.Row | None) -> schemas.Serving | None:
    if newest is None or newest["estimate_id"] is None:
        return None
    row = await reads.find_estimate(conn, "forecast", None, None, newest["estimate_id"])
    return None if row is None else _find_backtest(row["result"], newest["after_steps"])


def _find_backtest(result: Mapping[str, Any], after_steps: int) -> schemas.Serving:
    """Return the backtest of the forecaster in use after this many steps. Early forecasters use fewer past steps."""
    serves: dict[str, Any] = result["serves"]
    fitting = [
        row
        for row in result["backtests"]
        if row["m"] <= after_steps
        and row["coverage90"] is not None
        and (row["k"], row["features"]) == (serves["k"], serves["features"])
    ]
    if after_steps >= serves["m"] or not fitting:
        return build_model(schemas.Serving, serves)
    row = max(fitting, key=lambda one: one["m"])
    return build_model(
        schemas.Serving,
        {name: row[name] for name in ("m", "k", "features", "coverage90")},
        forecaster=row["best"],
        mape=row["mape"][row["best"]],
        why=f"least error of {len(row['mape'])} forecasters on {row['runs']} held-out runs, so the error tends to be too small; used until {serves['m']} steps have arrived",
    )


def _missing_reason(state: reads.Row | None, steps: int) -> str:
    if state is None or state["estimate_id"] is None:
        return (state or {}).get("lacks") or NO_MODEL
    return f"too early: {steps} steps have arrived"


async def run_forecast(conn: Connection, names: Names, run_id: int) -> schemas.RunForecast:
    """Return a run with its steps, its newest forecast as a band, and all earlier forecasts."""
    row = await runs.find_run(conn, run_id)
    if row is None:
        raise NotFound(f"there is no run {run_id}", advice="/api/v1/runs lists them.")
    steps = await runs.load_steps(conn, run_id, 0)
    forecasts = await reads.list_forecasts(conn, run_id)
    newest = forecasts[-1] if forecasts else None
    usual = await runs.load_usual_steps(conn, run_id, row["exe"], row["nodes"], row["ranks"], steps.step)
    state = None if forecasts else await reads.find_estimate_state(conn, "forecast", row["exe"], row["nodes"])
    return build_model(
        schemas.RunForecast,
        {key: row[key] for key in ("run_id", "job_id", "nodes", "start", "simulated")},
        exe=names.path(row["exe"]),
        running=await reads.is_running(conn, run_id),
        observed=build_model(
            schemas.Observed,
            step=steps.step,
            time_s=steps.time_s,
            usual_s=[None] * len(steps.step) if usual is None else usual[1],
        ),
        band=None if newest is None else _forecast_band(newest),
        newest=None if newest is None else _next_steps(newest),
        made=[_next_steps(forecast) for forecast in forecasts],
        backtest=await _load_serving(conn, newest),
        lacks=None if forecasts else _missing_reason(state, len(steps.step)),
    )


def _forecast_band(row: reads.Row) -> schemas.Band:
    """Return the mean curve of the next steps, scaled so that its sum is the forecast, and the ends of its interval."""
    scaled = {
        name: [value * row[name] / row["usual_s"] for value in row["curve_s"]]
        for name in ("expected_s", "low_s", "high_s")
    }
    return build_model(schemas.Band, scaled, step=[row["after_steps"] + at for at in range(len(row["curve_s"]))])


async def list_slowest_runs(conn: Connection, names: Names, limit: int, fabric_id: int | None) -> schemas.SlowestRuns:
    """List running instrumented jobs by the slowdown of their newest steps."""
    rows = await reads.list_running_runs(conn, MOST_COMPARED, fabric_id)
    recent = await runs.load_recent_steps(conn, [row["run_id"] for row in rows], RECENT_S)
    comparisons = [(row, *await _compare_steps(conn, row, recent[row["run_id"]])) for row in rows]
    comparisons.sort(key=lambda one: (one[2] is None, -(one[2] or 0.0)))
    items = [
        build_model(
            schemas.SlowRun,
            {key: names.job(row)[key] for key in ("run_id", "job_id", "user", "name", "nodes", "simulated")},
            exe=names.path(row["exe"]),
            recent=steps,
            slowdown=slowdown,
            earlier_runs=earlier,
            run_time=None
            if row["job_pk"] is None or row["job_start"] is None
            else await _run_time(conn, row["job_pk"], row["job_start"], row["job_elapsed_s"]),
        )
        for row, steps, slowdown, earlier in comparisons[:limit]
    ]
    return build_model(schemas.SlowestRuns, recent_s=RECENT_S, running=len(rows), items=items)


async def _compare_steps(
    conn: Connection, row: reads.Row, recent: list[tuple[int, float]]
) -> tuple[schemas.Observed, float | None, int]:
    """Return the newest steps next to the same steps of other runs, their total slowdown, and the number of these runs."""
    step = np.array([number for number, _ in recent], np.int32)
    time_s = np.array([seconds for _, seconds in recent])
    usual = await runs.load_usual_steps(conn, row["run_id"], row["exe"], row["nodes"], row["ranks"], step)
    usual_s = np.full(len(step), np.nan) if usual is None else usual[1]
    has_usual = np.isfinite(usual_s)
    expected = float(usual_s[has_usual].sum())
    steps = build_model(schemas.Observed, step=step, time_s=time_s, usual_s=usual_s)
    return steps, float(time_s[has_usual].sum()) / expected if expected > 0 else None, 0 if usual is None else usual[0]


async def running_jobs(
    conn: Connection, names: Names, limit: int, fabric_id: int | None = None
) -> schemas.RunningJobList:
    """List running jobs without recorded steps, and the expected duration of each."""
    items = [
        build_model(
            schemas.RunningJob,
            {key: names.job(row)[key] for key in ("job_id", "user", "name", "nodes", "start", "simulated")},
            run_time=await _run_time(conn, row["job_pk"], row["start"], row["elapsed_s"]),
        )
        for row in await reads.running_without_steps(conn, limit, fabric_id)
    ]
    return build_model(schemas.RunningJobList, items=items)


async def _run_time(conn: Connection, job_pk: int, start: datetime, elapsed_s: float) -> schemas.RunTime:
    estimate = run_time(await reads.past_times(conn, job_pk), elapsed_s)
    ends = {
        name: None if seconds is None else start + timedelta(seconds=seconds)
        for name, seconds in (
            ("ends", estimate.expected_s),
            ("ends_low", estimate.low_s),
            ("ends_high", estimate.high_s),
        )
    }
    return build_model(schemas.RunTime, vars(estimate), **ends, rests_on=estimate.rests_on)


async def load_outlook(conn: Connection, names: Names, job_id: str, cluster: str | None) -> schemas.Outlook:
    """Return the available data on a job without recorded steps."""
    now = datetime.now(UTC)
    row = await jobs.find_job(conn, job_id, cluster, now)
    if row is None:
        raise NotFound(
            f"there is no job {job_id[:60]!r}",
            advice="Write the id as the scheduler prints it; /api/v1/jobs lists them.",
        )
    number, start = row["job_pk"], row["start"]
    place = (await jobs.load_places(conn, [number]))[number]
    stalls, near = None, []
    if place["fabric_id"] is not None and start is not None:
        end = row["end"] or now
        begin = max(start, end - timedelta(minutes=STALLS_MINUTES)).replace(second=0, microsecond=0)
        stall_totals = await reads.load_stall_ratios(conn, number, place["fabric_id"], begin, end)
        minutes = math.ceil((end - begin).total_seconds() / 60)
        stalls = None if stall_totals is None else build_model(schemas.Stalls, stall_totals, minutes=minutes)
        near = await jobs.list_neighbours(conn, number, now, MOST_NEIGHBOURS)
    blamed = await reads.find_blaming_applications(
        conn, sorted({neighbour["user"] for neighbour in near if neighbour["user"]})
    )
    neighbours = [
        build_model(
            schemas.NeighbourWithBlame,
            {key: neighbour[key] for key in ("job_id", "nodes", "shared_routers", "shared_groups", "overlap_s")},
            user=None if neighbour["user"] is None else names.user(neighbour["user"]),
            blamed=[names.path(exe) for exe in blamed.get(neighbour["user"], [])],
        )
        for neighbour in near
    ]
    return build_model(
        schemas.Outlook,
        job_id=row["job_id"],
        elapsed_s=row["elapsed_s"],
        has_steps=place["runs"] > 0,
        past=[build_model(schemas.PastJobs, past) for past in await reads.past_jobs(conn, number, row["elapsed_s"])],
        run_time=None
        if start is None or row["end"] is not None or row["elapsed_s"] is None
        else await _run_time(conn, number, start, row["elapsed_s"]),
        stalls=stalls,
        neighbours=neighbours,
        simulated=row["simulated"],
    )
