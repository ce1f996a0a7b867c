"""Tasks as the API shows them."""

from __future__ import annotations

from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection

Row = dict[str, Any]

_TASK = SQL("""
    SELECT task_id, name, args, state, done, total, message, cancel_requested, result, error, created_by, created_at, started_at, finished_at
    FROM task
""")


async def page(
    conn: Connection, limit: int, before: int | None = None, name: str | None = None, state: str | None = None
) -> list[Row]:
    """Tasks, newest first, numbered below `before`."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            _TASK
            + SQL(
                " WHERE (%(before)s::bigint IS NULL OR task_id < %(before)s) AND (%(name)s::text IS NULL OR name = %(name)s)"
                " AND (%(state)s::text IS NULL OR state = %(state)s) ORDER BY task_id DESC LIMIT %(limit)s"
            ),
            {"before": before, "name": name, "state": state, "limit": limit},
        )
        return await cursor.fetchall()


async def one(conn: Connection, task_id: int) -> Row | None:
    """A task, or None."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_TASK + SQL(" WHERE task_id = %s"), [task_id])
        return await cursor.fetchone()
