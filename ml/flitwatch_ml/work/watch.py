"""On a schedule and on new runs: which estimates are due, and what the others still lack."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from flitwatch_db import connect, tasks
from flitwatch_db.estimates import inputs as estimates
from flitwatch_db.estimates import store as estimate_store
from flitwatch_ml.blame.verdict import NAMING_RUNS as BLAME_RUNS
from flitwatch_ml.deviation.model import MIN_RUNS as DEVIATION_RUNS
from flitwatch_ml.work.drift import measure

log = logging.getLogger(__name__)

#: A backtest holds out a fifth of the runs; with fewer its error is that of a handful of runs.
FORECAST_RUNS = 20
NEEDED = {"blame": BLAME_RUNS, "deviation": DEVIATION_RUNS, "forecast": FORECAST_RUNS}
#: Estimated anew when the runs have grown by so much: a tenth, and at least so many.
GROWTH, LEAST_GROWTH = 0.1, 5
_LOCK = 7205759403792797


@dataclass(frozen=True)
class Standing:
    """How an estimate stood when it was last looked at."""

    runs: int
    newest_run: int
    estimate_id: int | None
    lacks: str | None
    drifting: bool


def due(kind: str, runs: int, newest_run: int, standing: Standing | None) -> bool:
    """Whether to estimate: enough runs, and never done, or grown enough, or the forecaster drifts and there are new runs."""
    if runs < NEEDED[kind]:
        return False
    if standing is None or standing.estimate_id is None:
        return standing is None or standing.newest_run != newest_run or standing.runs < NEEDED[kind]
    if newest_run == standing.newest_run:
        return False
    return standing.drifting or runs - standing.runs >= max(LEAST_GROWTH, GROWTH * standing.runs)


def look(dsn: str) -> list[int]:
    """Start the tasks that are due, say what the rest lacks, and measure drift; return the tasks started. One worker at a time does it."""
    started = []
    with connect(dsn, role="writer", application="flitwatch watch") as conn:
        row = conn.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK]).fetchone()
        if row is None or not row[0]:
            return []
        for exe, nodes, runs, newest in estimates.applications(conn):
            known = _standing(conn, exe, nodes)
            for kind, needed in NEEDED.items():
                if runs < needed:
                    lacks = f"not enough data: needs {needed} runs, has {runs}"
                    estimate_store.set_state(conn, kind, exe, nodes, runs=runs, newest_run=newest, lacks=lacks)
                elif due(kind, runs, newest, known.get(kind)) and not _open(conn, f"ml.{kind}", exe, nodes):
                    started.append(
                        tasks.start(conn, f"ml.{kind}", {"exe": exe, "nodes": nodes}, created_by="the schedule")
                    )
            forecast = known.get("forecast")
            if forecast is not None and forecast.estimate_id is not None:
                drift = measure(conn, exe, nodes, forecast.estimate_id)
                if drift is not None:
                    estimate_store.set_drift(conn, exe, nodes, drift)
    return started


def _standing(conn: psycopg.Connection[Any], exe: str, nodes: int) -> dict[str, Standing]:
    rows = conn.execute(
        "SELECT kind, runs, newest_run, estimate_id, lacks, coalesce((drift ->> 'drifting')::boolean, false) FROM estimate_state"
        " WHERE exe = %s AND nodes = %s",
        [exe, nodes],
    ).fetchall()
    return {row[0]: Standing(*row[1:]) for row in rows}


def _open(conn: psycopg.Connection[Any], name: str, exe: str, nodes: int) -> bool:
    row = conn.execute(
        # What failed is not tried again at once: it would fail every minute.
        "SELECT EXISTS (SELECT FROM task WHERE name = %s AND args @> %s AND (state IN ('queued', 'running')"
        " OR state = 'failed' AND finished_at > now() - interval '30 minutes' AND error ->> 'kind' = 'internal'))",
        [name, Jsonb({"exe": exe, "nodes": nodes})],
    ).fetchone()
    return bool(row and row[0])
