"""Runs reported by programs, stored in the same rows as imported ones; and running ones without a current forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import psycopg

from flitwatch_db.core import events
from flitwatch_db.core.log_keep import check_disk
from flitwatch_db.ingest.arrivals import add_arrivals
from flitwatch_db.runs.store import run_id_of, upsert_run, upsert_steps
from flitwatch_domain.data_sources import REPORTED
from flitwatch_domain.errors import Conflict, Forbidden, NotFound
from flitwatch_domain.runs import Run, RunStep

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


Conn = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Changes caused by a report.

    Attributes
    ----------
    created : bool
        False if the run had been reported before.
    new_steps : int
        Number of new steps; a repeated step replaces the stored one.
    """

    run_id: int
    created: bool
    new_steps: int


def store_report(conn: Conn, run: Run, steps: Sequence[RunStep], owner: str | None) -> StoredRun:
    """Store a run with its steps, or update it, within a transaction.

    Parameters
    ----------
    owner : str or None
        The user whose jobs the caller may report; None: all users.

    Raises
    ------
    Conflict
        The key belongs to another run, or the owner of the job is not known yet.
    Forbidden
        The job belongs to another user.
    DiskFull
        The database's disk has too little free space.
    """
    check_disk(conn)
    with conn.transaction():
        row = conn.execute("SELECT exe, job_id FROM run WHERE run_key = %s", [run.run_key]).fetchone()
        if row is not None and row != (run.exe, run.job_id):
            raise Conflict(
                "this key belongs to a run of another application or job", advice="Use a new key for each run."
            )
        run_id = upsert_run(conn, run)
        _check_owner(conn, run_id, owner)
        return _store_steps(conn, run_id, row is None, steps)


def append_steps(conn: Conn, run_id: int, run_key: str, steps: Sequence[RunStep], owner: str | None) -> StoredRun:
    """Add steps to a run, within a transaction.

    Raises
    ------
    NotFound
        There is no run with that number and key.
    Conflict
        The owner of the job is unknown.
    Forbidden
        The job belongs to another user.
    DiskFull
        The database's disk has too little free space.
    """
    check_disk(conn)
    with conn.transaction():
        if run_id_of(conn, run_key) != run_id:
            raise NotFound(
                f"there is no run {run_id} of yours with this key", advice="Report the run first: POST /api/v1/runs."
            )
        _check_owner(conn, run_id, owner)
        return _store_steps(conn, run_id, False, steps)


def _check_owner(conn: Conn, run_id: int, owner: str | None) -> None:
    job_id, user = conn.execute(
        "SELECT run.job_id, user_name FROM run LEFT JOIN job USING (job_pk) WHERE run_id = %s", [run_id]
    ).fetchone() or (None, None)
    if owner is None or job_id is None or user == owner:
        return
    if user is None:
        # If stored now, they would belong to the job's eventual owner.
        raise Conflict(
            "the owner of this job is unknown",
            advice="Send the report again after the scheduler's record of the job has arrived, or use a service's token with scope runs.",
        )
    raise Forbidden(
        "the job belongs to another user", advice="Report your own jobs, or use a service's token with scope runs."
    )


def _store_steps(conn: Conn, run_id: int, created: bool, steps: Sequence[RunStep]) -> StoredRun:
    new = upsert_steps(conn, run_id, steps)
    add_arrivals(conn, {REPORTED: created + new})
    if created or new:
        events.emit_event(conn, "run", {"run_id": run_id, "steps": new})
    return StoredRun(run_id, created, new)
