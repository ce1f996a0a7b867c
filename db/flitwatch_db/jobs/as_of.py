"""A job by its scheduler's id, as of a time, and its end."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.connection import fetch_rows
from flitwatch_domain.errors import BadRequest, NotFound
from flitwatch_domain.jobs import OVER_STATES, kept_job_id

#: SQL after FROM job; its parameters are those of `build_parameters`.
NEWEST = SQL(
    "WHERE job_id = %(id)s AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)"
    " ORDER BY cluster = %(server)s::text DESC NULLS LAST, coalesce(start_ts, submit_ts) DESC NULLS LAST, restart DESC, job_pk DESC LIMIT 1"
)


def build_parameters(job_id: str, cluster: str | None) -> dict[str, str | None]:
    """Return the parameters of `NEWEST` for an id as the scheduler prints it."""
    stored_id, server = kept_job_id(job_id)
    return {"id": stored_id, "cluster": cluster, "server": server}


_OVER = ", ".join(f"'{state}'" for state in sorted(OVER_STATES))


def end_or(still: str, job: str = "") -> str:
    """Build the SQL of a job's end; NULL if it may have ended at an unknown time, so that all comparisons with it are false.

    Parameters
    ----------
    still : str
        SQL for the end of a pending or running job, such as `'infinity'::timestamptz`.
    job : str
        The table's name in the query, with a dot.
    """
    return f"coalesce({job}end_ts, CASE WHEN {job}state NOT IN ({_OVER}) THEN {still} END)"


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
    rows = fetch_rows(conn, _JOB + NEWEST, build_parameters(job_id, cluster))
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
