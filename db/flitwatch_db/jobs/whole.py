"""An array or a heterogeneous job as a whole: its tasks or components, with a summary of their verdicts."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import Any

import psycopg
from psycopg.sql import SQL

from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.jobs.arrays import count_waiting
from flitwatch_db.jobs.as_of import at_moment
from flitwatch_db.jobs.explanation import explain_job
from flitwatch_domain.errors import NotFound
from flitwatch_domain.explanation.result import TaskVerdict, WholeJob

Conn = psycopg.Connection[Any]

#: Maximum number of listed and examined tasks: running ones first, then the latest. An explanation reads minutes of a machine's counters.
MOST_JUDGED = 100
#: 530, 530_[1-9], 530[] and 530[].server of PBS.
_WHOLE = re.compile(r"([0-9]{1,20})(?:_?\[[^\]]*\])?(?:\.([A-Za-z0-9][\w.-]*))?")


_TASKS = SQL("""
    WITH parts AS (
        SELECT DISTINCT ON (cluster, job_id) * FROM job
        WHERE split_part(translate(job_id, '+', '_'), '_', 1) = %(number)s
          AND strpos(translate(job_id, '+', '_'), '_') > 0 AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s)
        ORDER BY cluster, job_id, restart DESC
    ), newest AS (
        SELECT cluster FROM parts ORDER BY coalesce(start_ts, submit_ts) DESC NULLS LAST, job_pk DESC LIMIT 1
    )
    SELECT job_pk, cluster, job_id, array_task, het_offset, user_name AS "user", account, name, state, nodes, simulated,
           extract(epoch FROM start_ts)::float8 AS start_s, extract(epoch FROM end_ts)::float8 AS end_s, start_ts AS start, end_ts AS "end"
    FROM parts JOIN newest USING (cluster)
    ORDER BY (end_ts IS NULL AND state = 'RUNNING') DESC, start_ts DESC NULLS LAST, array_task, het_offset, job_pk
""")


def explain_whole(conn: Conn, job_id: str, cluster: str | None = None, now_s: float | None = None) -> WholeJob:
    """Explain each task of an array, or each component of a heterogeneous job, and summarise the verdicts.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`.
    job_id, cluster : str
        The tasks' common number, as the scheduler prints it; of several clusters the newest.
    now_s : float, optional
        Time of the answer, epoch seconds; default: now.

    Raises
    ------
    NotFound
        No array or heterogeneous job has that number.
    """
    now_s = time.time() if now_s is None else now_s
    match = _WHOLE.fullmatch(job_id)
    asked = {} if match is None else {"number": match.group(1), "cluster": cluster or match.group(2)}
    rows = fetch_rows(conn, _TASKS, asked) if asked else []
    if not rows:
        raise NotFound(
            f"there is no array and no heterogeneous job {job_id[:60]!r}",
            advice="Write the number that its tasks share: 530 of 530_1 and 530_2, 10 of 10+0 and 10+1.",
        )
    assert match is not None
    tasks = [_judge(conn, row, now_s) for row in rows[:MOST_JUDGED]]
    states: Counter[str] = Counter()
    for row in rows:
        states[row["state"]] += count_waiting(row["job_id"])
    head = rows[0]
    return {
        "job_id": match.group(1), "cluster": head["cluster"], "kind": "heterogeneous" if head["het_offset"] is not None else "array",
        "user": head["user"], "account": head["account"], "name": head["name"], "simulated": head["simulated"],
        "total": states.total(), "states": dict(states.most_common()),
        "verdicts": dict(Counter(task["verdict"] for task in tasks if task["verdict"] is not None).most_common()),
        "named": dict(Counter(task["named"] for task in tasks if task["named"] is not None).most_common()),
        "tasks": tasks,
    }  # fmt: skip


def _judge(conn: Conn, row: dict[str, Any], now_s: float) -> TaskVerdict:
    task: TaskVerdict = {
        "job_id": row["job_id"], "state": row["state"], "start": row["start"], "end": row["end"], "nodes": row["nodes"],
        "verdict": None, "title": None, "named": None,
    }  # fmt: skip
    if row["start_s"] is None or row["start_s"] > now_s:
        return task
    made = explain_job(conn, at_moment(row, now_s), now_s)
    return {**task, "verdict": made["verdict"], "title": made["title"], "named": made["named"]}
