"""Tasks for the API."""

from __future__ import annotations

from typing import Any

from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection
from flitwatch_domain.access import VISITOR

Row = dict[str, Any]

#: Visitors' tasks are private: `asker` is the caller, or None for callers who may see all tasks.
OPEN_TO = SQL(
    " (%(asker)s::text IS NULL OR created_by IS NULL OR created_by = %(asker)s OR NOT starts_with(created_by, %(visitor)s))"
)
_TASK = SQL("""
    SELECT task_id, name, args, state, done, total, message, cancel_requested, result, error, created_by, created_at, started_at, finished_at
    FROM task
""")


async def list_tasks(
    conn: Connection,
    limit: int,
    before: int | None = None,
    name: str | None = None,
    state: str | None = None,
    asker: str | None = None,
) -> list[Row]:
    """Return tasks numbered below `before`, newest first; with `asker`, without other visitors' tasks."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            _TASK
            + SQL(
                " WHERE (%(before)s::bigint IS NULL OR task_id < %(before)s) AND (%(name)s::text IS NULL OR name = %(name)s)"
                " AND (%(state)s::text IS NULL OR state = %(state)s) AND"
            )
            + OPEN_TO
            + SQL(" ORDER BY task_id DESC LIMIT %(limit)s"),
            {"before": before, "name": name, "state": state, "limit": limit, "asker": asker, "visitor": VISITOR},
        )
        return await cursor.fetchall()


async def find_task(conn: Connection, task_id: int, asker: str | None = None) -> Row | None:
    """Return a task, or None; with `asker`, None for other visitors' tasks."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            _TASK + SQL(" WHERE task_id = %(task)s AND") + OPEN_TO,
            {"task": task_id, "asker": asker, "visitor": VISITOR},
        )
        return await cursor.fetchone()
