"""A job as of a time."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.jobs import by_id
from flitwatch_domain.errors import BadRequest, NotFound

Conn = psycopg.Connection[Any]
Row = dict[str, Any]
_JOB = SQL(
    'SELECT job_pk, cluster, job_id, user_name AS "user", account, name, state, nodes, simulated,'
    " extract(epoch FROM start_ts)::float8 AS start_s, extract(epoch FROM end_ts)::float8 AS end_s FROM job "
)


def job_at(conn: Conn, job_id: str, cluster: str | None, now_s: float) -> Row:
    """Return a job's row as of a time; NotFound if it does not exist, BadRequest if it had not started."""
    return at_moment(_find_job(conn, job_id, cluster), now_s)


def one_job(conn: Conn, job_pk: int) -> Row:
    """Return the row of one job, as in `job_at`; NotFound if it was deleted. A scheduler's id may refer to several: requeues of a job."""
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_JOB + SQL("WHERE job_pk = %s"), [job_pk]).fetchone()
    if row is None:
        raise NotFound(f"there is no job with the number {job_pk}")
    return row


def _find_job(conn: Conn, job_id: str, cluster: str | None) -> Row:
    with conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(_JOB + by_id.NEWEST, by_id.build_parameters(job_id, cluster)).fetchall()
    if not rows:
        raise NotFound(
            f"there is no job {job_id[:60]!r}" + (f" of cluster {cluster[:60]!r}" if cluster else ""),
            advice="Write the id as the scheduler prints it (42, 3_4, 10+1, 13.server); /api/v1/jobs?q= finds jobs by part of it, /api/v1/jobs/530/tasks an array.",
        )
    return rows[0]


def at_moment(job: Row, now_s: float) -> Row:
    """Return a job as of a time: one that ended later was running."""
    if job["start_s"] is not None and job["start_s"] > now_s:
        raise BadRequest(
            f"job {job['job_id']} had not started at that moment",
            advice="Ask for a later `at`, or leave it out for the newest answer.",
        )
    return {**job, "end_s": None, "state": "RUNNING"} if job["end_s"] is not None and job["end_s"] > now_s else job
