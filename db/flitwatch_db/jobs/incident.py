"""Current incident of a machine, from explanations of its running jobs and from stored incidents; the domain computes the finding itself."""

from __future__ import annotations

import time
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.incidents import shown
from flitwatch_db.jobs import as_of, explanation
from flitwatch_domain.explanation import incident as finding
from flitwatch_domain.explanation.result import Incident

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Maximum number of running jobs with steps that are examined, those on most nodes first.
MOST_RUNNING = 48
#: Time in which the last incident is searched, and limit of simultaneous incidents.
LONGEST_AGO_S, MOST_PRESENT = 86_400.0, 20
#: Counters no older than this belong to the time of an answer, as on the home page.
COUNTED_S = 600.0


def find_incident(conn: Conn, fabric_id: int, now_s: float | None = None) -> Incident:
    """Return the present incident of a machine, none, or that it cannot be determined; and the last one (docs/contracts/explanation.md).

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`.
    now_s : float, optional
        Time of the answer, epoch seconds; default: now.
    """
    now_s = time.time() if now_s is None else now_s
    machine = explanation.machine_of(conn, fabric_id)
    if machine.snapshot:
        return finding.find_incident(machine.fabric.name, [], 0, now_s, snapshot=True)
    jobs = _list_running_jobs(conn, fabric_id, now_s)
    # Without steps only a job's elapsed time is known, and jobs of one name and size compute different things: the home page would list many of them.
    explanations = [explanation.explain_job(conn, job, now_s, machine) for job in _most_with_steps(jobs)]
    counted = bool(jobs) or _has_counters(conn, fabric_id, now_s)
    result = finding.find_incident(machine.fabric.name, explanations, len(jobs), now_s, counted=counted)
    # Stored incidents come first, so that the home page, the list and alerts agree. In the first seconds only explanations exist.
    present = shown.list_heads(
        conn, shown.IncidentFilter(fabric_id, from_s=now_s, to_s=now_s), MOST_PRESENT, at_s=now_s
    )
    stored = sorted(
        (entry for entry in present if entry["state"] != "withdrawn"), key=lambda entry: -(entry["node_hours"] or 0.0)
    )
    story = next(
        (story for entry in stored if (story := shown.summarise_incident(conn, entry, now_s)) is not None), None
    )
    if story is not None:
        slowed = {entry["job_pk"] for entry in story["victims"]}
        others = [entry for entry in (*result["victims"], *result["others"]) if entry["job_pk"] not in slowed]
        return {**result, **story, "verdict": "incident", "reasons": [], "others": others}
    if result["verdict"] == "incident":
        return result
    before = shown.IncidentFilter(fabric_id, state="over", from_s=now_s - LONGEST_AGO_S, to_s=now_s)
    over = [entry for entry in shown.list_heads(conn, before, MOST_PRESENT, at_s=now_s) if entry["ended"] is not None]
    last = next((story for entry in over if (story := shown.summarise_incident(conn, entry, now_s)) is not None), None)
    return {**result, "last": last}


def running_with_steps(conn: Conn, fabric_id: int, now_s: float) -> list[Row]:
    """Return running jobs that record steps and have most of their nodes there, those on most nodes first, at most `MOST_RUNNING`."""
    return _most_with_steps(_list_running_jobs(conn, fabric_id, now_s))


def _most_with_steps(jobs: list[Row]) -> list[Row]:
    return [row for row in jobs if row["steps"]][:MOST_RUNNING]


def _has_counters(conn: Conn, fabric_id: int, now_s: float) -> bool:
    """Return whether routers or network cards were counted just before the time of an answer, or in its hour if the hour's minutes have expired."""
    row = conn.execute(
        SQL("SELECT {} OR {}").format(*(_COUNTED.format(*map(Identifier, tables)) for tables in _COUNTERS)),
        {"fabric": fabric_id, "from": now_s - COUNTED_S, "to": now_s, "hour": now_s // 3600 * 3600},
    ).fetchone()
    assert row is not None
    return bool(row[0])


_COUNTERS = (("router_1m", "router_1h"), ("endpoint_1m", "endpoint_1h"))
_COUNTED = SQL("""
    EXISTS (SELECT FROM {0} WHERE fabric_id = %(fabric)s AND ts > to_timestamp(%(from)s) AND ts <= to_timestamp(%(to)s))
    OR EXISTS (SELECT FROM {1} WHERE fabric_id = %(fabric)s AND ts = to_timestamp(%(hour)s))
       AND NOT EXISTS (SELECT FROM {0} WHERE fabric_id = %(fabric)s AND ts >= to_timestamp(%(hour)s) AND ts < to_timestamp(%(hour)s + 3600))
""")


#: The fabric with most of a job's places, on which it is explained: a job may have nodes on several.
MAIN_FABRIC = SQL("""
    (SELECT fabric_id FROM job_node n WHERE n.job_pk = j.job_pk GROUP BY fabric_id ORDER BY count(n.router) DESC, fabric_id LIMIT 1)
""")
JOB = SQL("""
    SELECT j.job_pk, j.cluster, j.job_id, j.user_name AS "user", j.account, j.name, j.state, j.nodes, j.simulated,
           extract(epoch FROM j.start_ts)::float8 AS start_s, extract(epoch FROM j.end_ts)::float8 AS end_s,
           EXISTS (SELECT FROM run r WHERE r.job_pk = j.job_pk) AND %(fabric)s = {} AS steps
    FROM job j
""").format(MAIN_FABRIC)


def _list_running_jobs(conn: Conn, fabric_id: int, now_s: float) -> list[Row]:
    """Return the jobs on the machine at that time, those on most nodes first."""
    rows = fetch_rows(
        conn,
        JOB
        + SQL("""
            WHERE j.start_ts <= to_timestamp(%(now)s) AND (j.end_ts > to_timestamp(%(now)s) OR j.end_ts IS NULL AND j.state = 'RUNNING')
              AND EXISTS (SELECT FROM job_node n WHERE n.job_pk = j.job_pk AND n.fabric_id = %(fabric)s)
            ORDER BY j.nodes DESC NULLS LAST, j.job_pk
        """),
        {"fabric": fabric_id, "now": now_s},
    )
    return [as_of.at_moment(row, now_s) for row in rows]
