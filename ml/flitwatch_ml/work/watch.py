"""Due estimates, on a schedule and after new runs, and the missing data of the others."""

from __future__ import annotations

import logging

from flitwatch_db import connect, tasks
from flitwatch_db.core.connection import try_lock
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import step_counters
from flitwatch_db.estimates import store as estimate_store
from flitwatch_db.estimates.store import State
from flitwatch_db.tasks.table import SCHEDULE, is_open_or_failed_lately
from flitwatch_ml.blame.verdict import NAMING_RUNS as BLAME_RUNS
from flitwatch_ml.deviation.model import MIN_RUNS as DEVIATION_RUNS
from flitwatch_ml.work.drift import measure_drift

log = logging.getLogger(__name__)

#: A backtest holds out a fifth of the runs; with fewer runs its error would depend on a handful.
FORECAST_RUNS = 20
NEEDED = {"blame": BLAME_RUNS, "deviation": DEVIATION_RUNS, "forecast": FORECAST_RUNS}
#: Growth of the runs that triggers a new estimate: a tenth, and at least this many.
GROWTH, LEAST_GROWTH = 0.1, 5
_LOCK = 7205759403792797


def is_due(kind: str, runs: int, newest_run: int, state: State | None) -> bool:
    """Return whether an estimate is due. There must be enough runs and either no estimate, enough growth, or drift with new runs."""
    if runs < NEEDED[kind]:
        return False
    if state is None or state.estimate_id is None:
        return state is None or state.newest_run != newest_run or state.runs < NEEDED[kind]
    if newest_run == state.newest_run:
        return False
    return state.drifting or runs - state.runs >= max(LEAST_GROWTH, GROWTH * state.runs)


def start_due_tasks(dsn: str) -> list[int]:
    """Start due tasks, store the missing data of the others, and measure drift. Return the started tasks. One worker at a time runs it."""
    started = []
    with connect(dsn, role="writer", application="flitwatch watch") as conn:
        if not try_lock(conn, _LOCK):
            return []
        step_counters.keep_recent(conn)
        for exe, nodes, runs, newest in estimates.list_applications(conn):
            states = estimate_store.states_of(conn, exe, nodes)
            for kind, needed in NEEDED.items():
                if runs < needed:
                    lacks = f"not enough data: needs {needed} runs, has {runs}"
                    estimate_store.set_state(conn, kind, exe, nodes, runs=runs, newest_run=newest, lacks=lacks)
                elif is_due(kind, runs, newest, states.get(kind)) and not is_open_or_failed_lately(
                    conn, f"ml.{kind}", {"exe": exe, "nodes": nodes}
                ):
                    started.append(
                        tasks.start_task(conn, f"ml.{kind}", {"exe": exe, "nodes": nodes}, created_by=SCHEDULE)
                    )
            forecast = states.get("forecast")
            if forecast is not None and forecast.estimate_id is not None:
                drift = measure_drift(conn, exe, nodes, forecast.estimate_id)
                if drift is not None:
                    estimate_store.set_drift(conn, exe, nodes, drift)
    return started
