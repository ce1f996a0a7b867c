"""Running instrumented jobs: a forecast after every batch of steps, stored and sent as an event."""

from __future__ import annotations

import logging
import math
import threading
from collections import defaultdict
from typing import Any, TypedDict

import numpy as np
import psycopg

from flitwatch_db import connect
from flitwatch_db.core.connection import try_lock
from flitwatch_db.core.events import emit_event
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import step_counters
from flitwatch_db.estimates import store as estimate_store
from flitwatch_db.estimates.store import Forecast
from flitwatch_db.runs.reported import WaitingRun, step_times, waiting_runs
from flitwatch_domain.errors import FlitwatchError
from flitwatch_ml.forecast.series import StepSeries
from flitwatch_ml.forecast.serving import Serving, load_serving
from flitwatch_ml.work.sets import Floats

log = logging.getLogger(__name__)

#: Interval of checks for new steps. Steps take seconds.
EVERY_S = 2.0
#: Lock of the forecasting worker, so that others do not repeat its work.
_LOCK = 7205759403792799


class Live:
    """Live forecasting with a cache of loaded forecasters."""

    def __init__(self) -> None:
        self._models: dict[int, dict[int, Serving]] = {}

    def step(self, conn: psycopg.Connection[Any]) -> int:
        """Forecast every running job with new steps. Return the number of forecasts."""
        groups: dict[tuple[int, int], list[WaitingRun]] = defaultdict(list)
        for run in waiting_runs(conn):
            groups[run.estimate_id, run.steps].append(run)
        forecasts: list[tuple[Forecast, WaitingRun, float]] = []
        for (estimate_id, steps), waiting in groups.items():
            for waiting_run in waiting:
                step_counters.keep_steps(
                    conn, waiting_run.run_id, step_counters.complete_through_s(conn, waiting_run.run_id)
                )
            serving = self._find_serving(conn, estimate_id, steps)
            if serving is not None and steps < waiting[0].whole:
                forecasts += [(*pair, serving.mape) for pair in forecast_runs(conn, serving, waiting)]
        for made_one, waiting_run, mape in forecasts:
            if estimate_store.save_forecast(conn, made_one):
                emit_event(conn, "forecast", _forecast_event(made_one, waiting_run, mape))
        return len(forecasts)

    def _find_serving(self, conn: psycopg.Connection[Any], estimate_id: int, steps: int) -> Serving | None:
        """Return the forecaster that uses the most of the available past."""
        if estimate_id not in self._models:
            self._models = {other_id: models for other_id, models in self._models.items() if len(self._models) < 100}
            stored = estimate_store.models_of(conn, estimate_id)
            self._models[estimate_id] = {m: load_serving(model) for m, model in stored.items()}
        fitting = [m for m in self._models[estimate_id] if m <= steps]
        return self._models[estimate_id][max(fitting)] if fitting else None


def forecast_runs(
    conn: psycopg.Connection[Any], serving: Serving, waiting: list[WaitingRun]
) -> list[tuple[Forecast, WaitingRun]]:
    """Forecast runs of one application with equal numbers of steps."""
    series = _build_series(conn, serving, waiting)
    windows, expected_s = serving.forecast(series)
    after = waiting[0].steps
    ahead = min(serving.k, waiting[0].whole - after)
    usual = serving.standard.usual_s(after, ahead)
    ratio, spread = expected_s / windows.curve_s, math.exp(serving.half_width90)
    forecasts = []
    for run, factor in zip(waiting, ratio.tolist(), strict=True):
        if not np.isfinite(factor):
            log.warning("run %d: no forecast from its steps", run.run_id)
            continue
        value = float(factor * usual.sum())
        forecasts.append(
            (
                Forecast(
                    run.run_id,
                    after,
                    ahead,
                    run.estimate_id,
                    serving.name,
                    value,
                    value / spread,
                    value * spread,
                    float(usual.sum()),
                    usual.tolist(),
                ),
                run,
            )
        )
    return forecasts


def _build_series(conn: psycopg.Connection[Any], serving: Serving, waiting: list[WaitingRun]) -> StepSeries:
    """Return the steps so far with the forecaster's features. Missing counts stay NaN and are replaced by their mean later."""
    index = np.array([waiting_run.run_id for waiting_run in waiting], np.int64)
    times = np.full((len(waiting), waiting[0].steps), np.nan)
    line = {waiting_run.run_id: at for at, waiting_run in enumerate(waiting)}
    for run, step, time_s in step_times(conn, list(line)):
        if step < times.shape[1]:
            times[line[run], step] = time_s
    runs = estimates.Runs(index, np.array([waiting_run.start_s for waiting_run in waiting]), times, False)
    features, all_counts = estimates.step_features(conn, runs)
    place = {name: at for at, name in enumerate(features)}
    counts = np.full((*times.shape, len(waiting[0].counters)), np.nan)
    for at, name in enumerate(waiting[0].counters):
        if name in place:  # a run may lack counters of other runs
            counts[:, :, at] = all_counts[:, :, place[name]]
    parts: dict[str, Floats] = {}
    if "placement" in serving.standard.sets:
        parts["placement"] = estimates.load_placement(conn, index)
    if {"io", "sys"} & set(serving.standard.sets):
        io, rest = estimates.io_and_other_counters(conn, runs)
        parts |= {name: values for name, values in (("io", io), ("sys", rest)) if name in serving.standard.sets}
    return StepSeries(times, counts / times[:, :, None], **parts)


class ForecastEvent(TypedDict):
    """Event `forecast_runs`: forecast time of a running job's next steps, compared with their usual time."""

    run_id: int
    job_id: str | None
    exe: str
    nodes: int
    after_steps: int
    ahead: int
    expected_s: float
    low_s: float
    high_s: float
    usual_s: float
    slowdown: float
    slow: bool
    forecaster: str
    backtest_mape: float
    simulated: bool


def _forecast_event(made: Forecast, one: WaitingRun, mape: float) -> ForecastEvent:
    return {
        "run_id": one.run_id,
        "job_id": one.job_id,
        "exe": one.exe,
        "nodes": one.nodes,
        "after_steps": made.after_steps,
        "ahead": made.ahead,
        "expected_s": made.expected_s,
        "low_s": made.low_s,
        "high_s": made.high_s,
        "usual_s": made.usual_s,
        "slowdown": made.expected_s / made.usual_s,
        "slow": made.low_s > made.usual_s,
        "forecaster": made.forecaster,
        "backtest_mape": mape,
        "simulated": one.simulated,
    }


def serve_forecasts(dsn: str, stop: threading.Event) -> None:
    """Forecast until stopped, even after database failures. One worker at a time forecasts; another takes over when it ends."""
    live = Live()
    while not stop.is_set():
        try:
            with connect(dsn, role="writer", application="flitwatch forecasts", autocommit=True) as conn:
                while not stop.wait(EVERY_S):
                    with conn.transaction():
                        if try_lock(conn, _LOCK):
                            live.step(conn)
        except (psycopg.Error, FlitwatchError) as problem:
            log.warning("no forecasts: %s", problem)
            stop.wait(EVERY_S)
        except Exception:
            # A failed forecast must not stop later ones.
            log.exception("no forecasts")
            stop.wait(10 * EVERY_S)
