"""What an incident of a machine reads: explanations of its running jobs, and of those that ran before; the finding is the domain's."""

from __future__ import annotations

import time
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.jobs import as_of, explanation
from flitwatch_domain.explanation import incident as finding
from flitwatch_domain.explanation.result import Explanation, Incident, IncidentSummary

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Running jobs that record steps and are looked at, those on most nodes first.
MOST_RUNNING = 48
#: Runs that ended and are looked at for the last incident, newest first, and how far back.
MOST_ENDED, LONGEST_AGO_S = 40, 86_400.0
#: Of those, so many slow ones are explained at most: each takes as long as a job's page.
MOST_EXPLAINED = 12


def incident(conn: Conn, fabric_id: int, now_s: float | None = None) -> Incident:
    """The present incident of a machine, or none, or that it cannot be told; and the last one (docs/contracts/explanation.md).

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`.
    fabric_id : int
    now_s : float, optional
        The moment of the answer, epoch seconds; without it, the clock.
    """
    now_s = time.time() if now_s is None else now_s
    fabric = explanation.fabric_of(conn, fabric_id)
    if fabric["snapshot"]:
        return finding.incident(fabric["name"], [], 0, now_s, snapshot=True)
    jobs = _running(conn, fabric_id, now_s)
    # Without steps only a job's elapsed time speaks, and jobs of one name and size differ in what they compute: home would be full of them.
    told = [
        explanation.explain_job(conn, job, now_s, fabric)
        for job in [one for one in jobs if one["steps"]][:MOST_RUNNING]
    ]
    made = finding.incident(fabric["name"], told, len(jobs), now_s)
    return {**made, "last": None if made["verdict"] == "incident" else _last(conn, fabric, now_s)}


def _last(conn: Conn, fabric: Row, now_s: float) -> IncidentSummary | None:
    """The newest incident that is over: of jobs that were slow beside the job that is named for the newest of them."""
    slow: list[Explanation] = []
    for job in _with_runs(conn, fabric["fabric_id"], now_s):
        if len(slow) == MOST_EXPLAINED:
            break
        if explanation.is_slow(conn, job, now_s):
            slow.append(explanation.explain_job(conn, job, now_s, fabric))
    return finding.last(slow)


_JOB = SQL("""
    SELECT j.job_pk, j.cluster, j.job_id, j.user_name AS "user", j.account, j.name, j.state, j.nodes, j.simulated,
           extract(epoch FROM j.start_ts)::float8 AS start_s, extract(epoch FROM j.end_ts)::float8 AS end_s,
           EXISTS (SELECT FROM run r WHERE r.job_pk = j.job_pk) AS steps
    FROM job j
""")


def _rows(conn: Conn, query: Any, parameters: dict[str, Any]) -> list[Row]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters).fetchall()


def _running(conn: Conn, fabric_id: int, now_s: float) -> list[Row]:
    """Jobs on the machine at the moment, those on most nodes first."""
    rows = _rows(
        conn,
        _JOB
        + SQL("""
            WHERE j.start_ts <= to_timestamp(%(now)s) AND (j.end_ts > to_timestamp(%(now)s) OR j.end_ts IS NULL AND j.state = 'RUNNING')
              AND EXISTS (SELECT FROM job_node n WHERE n.job_pk = j.job_pk AND n.fabric_id = %(fabric)s)
            ORDER BY j.nodes DESC NULLS LAST, j.job_pk
        """),
        {"fabric": fabric_id, "now": now_s},
    )
    return [as_of.at_moment(row, now_s) for row in rows]


def _with_runs(conn: Conn, fabric_id: int, now_s: float) -> list[Row]:
    """Jobs that recorded steps and began within the last day, newest first."""
    rows = _rows(
        conn,
        _JOB
        + SQL("""
            WHERE j.start_ts <= to_timestamp(%(now)s) AND j.start_ts > to_timestamp(%(now)s - %(ago)s)
              AND EXISTS (SELECT FROM run r WHERE r.job_pk = j.job_pk)
              AND EXISTS (SELECT FROM job_node n WHERE n.job_pk = j.job_pk AND n.fabric_id = %(fabric)s)
            ORDER BY j.start_ts DESC, j.job_pk DESC LIMIT %(most)s
        """),
        {"fabric": fabric_id, "now": now_s, "ago": LONGEST_AGO_S, "most": MOST_ENDED},
    )
    return [as_of.at_moment(row, now_s) for row in rows]
