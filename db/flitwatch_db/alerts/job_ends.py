"""Outbox of job ends: jobs without a notice, due notices, and their delivery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from flitwatch_db.alerts.store import as_jsonb
from flitwatch_db.core.connection import fetch_rows

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Seconds after a job's end until its last counters are stored, and until its end is too old for a notice, as in an import of last year's jobs.
SETTLED_S, NEWS_S = 60, 3600
#: Hours after which an undelivered notice is given up.
KEPT_HOURS = 24


def list_unannounced_jobs(conn: Conn, limit: int) -> list[Row]:
    """Return started and ended jobs without a notice, in order of their ends: job_pk, cluster, job_id, end_s."""
    return fetch_rows(
        conn,
        """
        SELECT job_pk, cluster, job_id, extract(epoch FROM end_ts)::float8 AS end_s
        FROM job j
        WHERE j.end_ts > now() - make_interval(secs => %(news)s) AND j.end_ts < now() - make_interval(secs => %(settled)s)
          AND j.start_ts IS NOT NULL AND NOT EXISTS (SELECT FROM job_end_notice n WHERE n.job_pk = j.job_pk)
        ORDER BY j.end_ts, j.job_pk LIMIT %(limit)s
        """,
        {"news": NEWS_S, "settled": SETTLED_S, "limit": limit},
    )


def queue_job_notice(conn: Conn, job_pk: int, explanation: Mapping[str, Any]) -> None:
    """Queue a notice of a job's end with its explanation; do nothing if it is already queued or the job was deleted."""
    conn.execute(
        "INSERT INTO job_end_notice (job_pk, explanation) SELECT job_pk, %s FROM job WHERE job_pk = %s ON CONFLICT DO NOTHING",
        [as_jsonb(explanation), job_pk],
    )


def list_due_notices(conn: Conn, limit: int) -> list[Row]:
    """Return due notices with their jobs, longest due first."""
    return fetch_rows(
        conn,
        """
        SELECT n.explanation, n.attempts, j.job_pk, j.cluster, j.job_id, j.user_name, j.account, j.name, j.partition, j.state, j.exit_code,
               j.nodes, j.submit_ts, j.start_ts, j.end_ts, j.simulated
        FROM job_end_notice n JOIN job j USING (job_pk)
        WHERE n.delivered_at IS NULL AND n.due_at <= clock_timestamp()
        ORDER BY n.due_at, n.job_pk LIMIT %s
        """,
        [limit],
    )


def mark_notice_delivered(conn: Conn, job_pk: int) -> None:
    conn.execute(
        "UPDATE job_end_notice SET delivered_at = clock_timestamp(), attempts = attempts + 1, error = NULL WHERE job_pk = %s",
        [job_pk],
    )


def postpone_notice(conn: Conn, job_pk: int, why: str, retry_s: float) -> None:
    """Postpone a notice to another attempt."""
    conn.execute(
        "UPDATE job_end_notice SET attempts = attempts + 1, error = %s, due_at = clock_timestamp() + make_interval(secs => %s) WHERE job_pk = %s",
        [why[:400], retry_s, job_pk],
    )


def forget_old(conn: Conn) -> int:
    """Remove notices older than a day; return how many of them were never delivered."""
    rows = conn.execute(
        "DELETE FROM job_end_notice WHERE created_at < now() - make_interval(hours => %s) RETURNING delivered_at IS NULL",
        [KEPT_HOURS],
    ).fetchall()
    return sum(lost for (lost,) in rows)
