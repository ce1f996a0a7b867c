"""Sweeps: the work of one task cut into parts that any number of workers on any number of machines take.

A part is taken for a limited time; what a dead worker took becomes free again when the time is over. Parts give the same
result whoever computes them, so that taking one twice does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.types.json import Jsonb


def create(conn: psycopg.Connection[Any], task_id: int, parts: Sequence[Mapping[str, Any]]) -> None:
    """Store the parts of a task, numbered from 0; those that are there already stay with their results."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO sweep_part (task_id, part, args) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            [(task_id, number, Jsonb(args)) for number, args in enumerate(parts)],
        )


def take(conn: psycopg.Connection[Any], task_id: int, taker: int, for_s: float) -> tuple[int, dict[str, Any]] | None:
    """Take a free part of a task that is still open, for `for_s` seconds.

    Parameters
    ----------
    taker : int
        The task that takes it.

    Returns
    -------
    (part, args), or None where nothing is free or the task has ended or was cancelled.
    """
    return conn.execute(
        "UPDATE sweep_part SET taken_by = %(taker)s, taken_until = clock_timestamp() + make_interval(secs => %(for_s)s)"
        " WHERE (task_id, part) = (SELECT p.task_id, p.part FROM sweep_part p JOIN task t USING (task_id)"
        " WHERE p.task_id = %(task)s AND p.result IS NULL AND coalesce(p.taken_until, '-infinity') < clock_timestamp()"
        " AND t.state IN ('queued', 'running') AND NOT t.cancel_requested ORDER BY p.part LIMIT 1 FOR UPDATE OF p SKIP LOCKED)"
        " RETURNING part, args",
        {"task": task_id, "taker": taker, "for_s": for_s},
    ).fetchone()


def keep(conn: psycopg.Connection[Any], task_id: int, part: int, taker: int, for_s: float) -> bool:
    """Hold a taken part for `for_s` seconds from now; False where it was lost, or the sweep ended or was cancelled."""
    row = conn.execute(
        "UPDATE sweep_part p SET taken_until = clock_timestamp() + make_interval(secs => %s) FROM task t"
        " WHERE t.task_id = p.task_id AND p.task_id = %s AND p.part = %s AND p.taken_by = %s AND p.result IS NULL"
        " AND t.state IN ('queued', 'running') AND NOT t.cancel_requested RETURNING 1",
        [for_s, task_id, part, taker],
    ).fetchone()
    return row is not None


def release(conn: psycopg.Connection[Any], task_id: int, part: int, taker: int) -> None:
    """Give a part back unfinished."""
    conn.execute(
        "UPDATE sweep_part SET taken_by = NULL, taken_until = NULL WHERE task_id = %s AND part = %s AND taken_by = %s",
        [task_id, part, taker],
    )


def finish(conn: psycopg.Connection[Any], task_id: int, part: int, result: Mapping[str, Any]) -> None:
    """Store a part's result; the first one stays."""
    conn.execute(
        "UPDATE sweep_part SET result = %s WHERE task_id = %s AND part = %s AND result IS NULL",
        [Jsonb(result), task_id, part],
    )


def progress(conn: psycopg.Connection[Any], task_id: int) -> tuple[int, int]:
    """(finished parts, parts)."""
    row = conn.execute("SELECT count(result), count(*) FROM sweep_part WHERE task_id = %s", [task_id]).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def collect(conn: psycopg.Connection[Any], task_id: int) -> list[dict[str, Any]]:
    """All results in the order of the parts; the parts are removed."""
    rows = conn.execute("SELECT result FROM sweep_part WHERE task_id = %s ORDER BY part", [task_id]).fetchall()
    conn.execute("DELETE FROM sweep_part WHERE task_id = %s", [task_id])
    return [row[0] for row in rows]
