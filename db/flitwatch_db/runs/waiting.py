"""Runs of running jobs without a current forecast, and their steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import psycopg

_NEW_STEPS = """
    SELECT r.run_id, coalesce(r.job_id, j.job_id), r.exe, coalesce(j.nodes, r.ranks), extract(epoch FROM r.start_ts)::float8, r.simulated, e.estimate_id,
           t.steps, e.result -> 'counters', jsonb_array_length(e.result -> 'curve_s')
    FROM run r JOIN job j USING (job_pk) JOIN LATERAL (SELECT count(*) AS steps, max(step) AS last FROM run_step s WHERE s.run_id = r.run_id) t ON t.last = t.steps - 1
         JOIN estimate_state a ON (a.kind, a.exe, a.nodes) = ('forecast', r.exe, coalesce(j.nodes, r.ranks)) JOIN estimate e USING (estimate_id)
    WHERE j.end_ts IS NULL AND j.state = 'RUNNING' AND r.start_ts > now() - interval '14 days'
      AND NOT EXISTS (SELECT FROM forecast f WHERE f.run_id = r.run_id AND f.after_steps >= t.steps)
"""


@dataclass(frozen=True)
class WaitingRun:
    """A running instrumented job with new steps since its last forecast."""

    run_id: int
    job_id: str | None
    exe: str
    nodes: int
    start_s: float
    simulated: bool
    estimate_id: int
    steps: int
    counters: tuple[str, ...]
    whole: int


_COLUMNS = tuple(field.name for field in fields(WaitingRun))


def waiting_runs(conn: psycopg.Connection[Any]) -> list[WaitingRun]:
    """Return runs with new steps since their last forecast, if there is a forecaster for their application."""
    return [
        WaitingRun(**dict(zip(_COLUMNS, row, strict=True)) | {"counters": tuple(row[8] or ())})
        for row in conn.execute(_NEW_STEPS).fetchall()
    ]


def step_times(conn: psycopg.Connection[Any], run_ids: Sequence[int]) -> list[tuple[int, int, float]]:
    """Return run, step and seconds of all steps of these runs."""
    return conn.execute("SELECT run_id, step, time_s FROM run_step WHERE run_id = ANY(%s)", [list(run_ids)]).fetchall()
