"""Table `task`: start, read and cancel tasks."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from flitwatch_db.core import events
from flitwatch_db.core.log_keep import check_disk
from flitwatch_domain.errors import BadInput, BadRequest, Conflict, NotFound
from flitwatch_domain.json_logs import request_id

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
OPEN = ("queued", "running")
#: Task that also runs automatically, alongside the tasks of its queue's workers; it frees disk space.
MAINTENANCE = "db.maintain"
#: Author of automatic tasks.
SCHEDULE = "the schedule"
#: First number of the advisory locks that protect the count of open tasks before one is added.
_COUNT_LOCK = 1_931_203
#: Channel that is notified of tasks to run.
CHANNEL = "flitwatch_task"


@dataclass(frozen=True)
class Task:
    """One row of table `task`; `error` is {kind, message} of a failed one."""

    task_id: int
    name: str
    args: dict[str, Any]
    state: str
    done: int
    total: int
    message: str
    cancel_requested: bool
    attempts: int
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    created_by: str | None
    authorised: bool
    role: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    heartbeat_at: datetime | None
    worker: str | None

    @property
    def is_open(self) -> bool:
        """Return whether the task is queued or running."""
        return self.state in OPEN


SELECT: LiteralString = (
    "SELECT task_id, name, args, state, done, total, message, cancel_requested, attempts, result, error, created_by, authorised, role,"
    " created_at, started_at, finished_at, heartbeat_at, worker FROM task"
)


def queue_of(name: str) -> str:
    """Return the queue of a task: its name's first word (`sim.study` is in `sim`)."""
    if not _NAME.fullmatch(name) or len(name) > 100:
        raise BadRequest(f"{name[:100]!r} is not a task's name", advice="Names look like sim.study.")
    return name.partition(".")[0]


def _join_transaction(conn: psycopg.Connection[Any]) -> contextlib.AbstractContextManager[object]:
    """Return a transaction: the caller's, or a new one on a connection in autocommit mode."""
    return conn.transaction() if conn.autocommit else contextlib.nullcontext()


def open_of(conn: psycopg.Connection[Any], created_by: str) -> int:
    """Count an author's queued and running tasks; until the transaction ends, other counts of that author wait."""
    conn.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_COUNT_LOCK, created_by])
    row = conn.execute(
        "SELECT count(*) FROM task WHERE created_by = %s AND state IN ('queued', 'running')", [created_by]
    ).fetchone()
    assert row is not None
    return int(row[0])


def open_of_visits(conn: psycopg.Connection[Any], visit: str, together: str, everyone: str) -> tuple[int, int, int]:
    """Count queued and running tasks of a visit, of its address's visits, and of all visits; until the transaction ends, other counts wait.

    Parameters
    ----------
    visit, together, everyone : str
        The visit's author, and the prefixes of the authors of visits from its address and of all visits.
    """
    conn.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_COUNT_LOCK, everyone])
    row = conn.execute(
        "SELECT count(*) FILTER (WHERE created_by = %s), count(DISTINCT created_by) FILTER (WHERE starts_with(created_by, %s)), count(*)"
        " FROM task WHERE starts_with(created_by, %s) AND state IN ('queued', 'running')",
        [visit, together, everyone],
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def is_open_or_failed_lately(conn: psycopg.Connection[Any], name: str, args: dict[str, Any]) -> bool:
    """Return whether a task with these arguments is queued, running, or failed with an internal error in the last 30 minutes.

    A failed task is not restarted at once, because it would fail every minute.
    """
    row = conn.execute(
        "SELECT EXISTS (SELECT FROM task WHERE name = %s AND args @> %s AND (state IN ('queued', 'running')"
        " OR state = 'failed' AND finished_at > now() - interval '30 minutes' AND error ->> 'kind' = 'internal'))",
        [name, Jsonb(args)],
    ).fetchone()
    return bool(row and row[0])


def start_task(
    conn: psycopg.Connection[Any],
    name: str,
    args: dict[str, Any] | None = None,
    created_by: str | None = None,
    *,
    authorised: bool = False,
    role: str | None = None,
) -> int:
    """Add a task to the queue; return its id. Workers see it when the caller's transaction commits.

    Parameters
    ----------
    authorised : bool
        Whether the author may change the site's settings: then the task's recommendation affects advice, otherwise it is only a what-if.
    role : str, optional
        The author's role, which limits the task's process; by default only the worker's own limits apply.

    Raises
    ------
    BadRequest
        The task name is unknown.
    BadInput
        A number in the arguments is not finite or beyond 64 bits.
    DiskFull
        The database's disk has too little space for results.
    """
    queue_of(name)
    check_numbers(args or {}, "args")
    if name != MAINTENANCE:
        check_disk(conn)
    with _join_transaction(conn):
        row = conn.execute(
            "INSERT INTO task (name, args, created_by, authorised, role, request_id) VALUES (%s, %s, %s, %s, %s, %s) RETURNING task_id",
            [name, Jsonb(args or {}), created_by, authorised, role, request_id.get()],
        ).fetchone()
        assert row is not None
        task_id = int(row[0])
        emit_task_event(conn, task_id)
    return task_id


def get_task(conn: psycopg.Connection[Any], task_id: int) -> Task:
    """Return one task; raise `NotFound` if the id does not exist."""
    with conn.cursor(row_factory=class_row(Task)) as cursor:
        task = cursor.execute(SELECT + " WHERE task_id = %s", [task_id]).fetchone()
    if task is None:
        raise NotFound(f"no task {task_id}")
    return task


def list_tasks(
    conn: psycopg.Connection[Any],
    state: str | None = None,
    name: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Task]:
    """Return tasks, newest first, optionally of one state or name, and with ids below `before`."""
    with conn.cursor(row_factory=class_row(Task)) as cursor:
        return cursor.execute(
            SELECT + " WHERE (%(state)s::text IS NULL OR state = %(state)s)"
            " AND (%(name)s::text IS NULL OR name = %(name)s) AND (%(before)s::bigint IS NULL OR task_id < %(before)s)"
            " ORDER BY task_id DESC LIMIT %(limit)s",
            {"state": state, "name": name, "before": before, "limit": limit},
        ).fetchall()


@dataclass(frozen=True)
class QueueFigures:
    """A queue: queued and running tasks, the age of the oldest of each (None: there is none), and tasks that failed in the last hour."""

    queue: str
    queued: int
    running: int
    waiting_s: float | None
    running_s: float | None
    failed: int


def queue_figures(conn: psycopg.Connection[Any], queues: Sequence[str]) -> list[QueueFigures]:
    """Return figures of these queues, in their order, including empty ones."""
    with conn.cursor(row_factory=class_row(QueueFigures)) as cursor:
        return cursor.execute(
            "SELECT queue, count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'running') AS running,"
            " extract(epoch FROM clock_timestamp() - min(created_at) FILTER (WHERE state = 'queued'))::float8 AS waiting_s,"
            " extract(epoch FROM clock_timestamp() - min(started_at) FILTER (WHERE state = 'running'))::float8 AS running_s,"
            " count(*) FILTER (WHERE state = 'failed') AS failed"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS q (queue, place) LEFT JOIN task ON starts_with(name, queue || '.')"
            " AND (state IN ('queued', 'running') OR state = 'failed' AND finished_at > now() - interval '1 hour')"
            " GROUP BY queue, place ORDER BY place",
            [list(queues)],
        ).fetchall()


def cancel_task(conn: psycopg.Connection[Any], task_id: int) -> Task:
    """Cancel a task, at once if it is queued, soon if it is running; return its current state. Raise NotFound if the task does not exist. Raise
    Conflict if it has already ended."""
    with _join_transaction(conn):
        changed = conn.execute(
            "UPDATE task SET cancel_requested = true, state = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,"
            " finished_at = CASE state WHEN 'queued' THEN clock_timestamp() END"
            " WHERE task_id = %s AND state IN ('queued', 'running') RETURNING task_id",
            [task_id],
        ).fetchone()
        task = get_task(conn, task_id)
        if changed is None:
            raise Conflict(f"task {task_id} is {task.state} already")
        emit_task_event(conn, task_id)
    return task


def emit_task_event(conn: psycopg.Connection[Any], task_id: int) -> None:
    """Emit event `task` with the task's state and progress; wake the workers if it is queued."""
    row = conn.execute("SELECT state, done, total, message FROM task WHERE task_id = %s", [task_id]).fetchone()
    if row is not None:
        state, done, total, message = row
        if state == "queued":
            conn.execute("SELECT pg_notify(%s, '')", [CHANNEL])
        events.emit_event(
            conn, "task", {"task_id": task_id, "state": state, "done": done, "total": total, "message": message}
        )


#: Integers from here on exceed 64 bits.
BEYOND = 2**63


def check_numbers(value: Any, where: str = "") -> None:
    """Raise BadInput if JSON or its readers cannot represent a number.

    A jsonb column stores 1e308 as an integer of 309 digits, which readers with 64-bit integers reject.

    Parameters
    ----------
    value : dict, list, str, number, bool or None
    where : str
        Name of the value in the message.

    Raises
    ------
    BadInput
        A number is not finite, or is beyond 64 bits.
    """
    # No recursion, because the nesting depth is chosen by the caller.
    pending = [(where, value)]
    while pending:
        place, item = pending.pop()
        if isinstance(item, dict):
            pending.extend((f"{place}.{name}" if place else str(name), inner) for name, inner in item.items())
        elif isinstance(item, list | tuple):
            pending.extend((f"{place}[{number}]", inner) for number, inner in enumerate(item))
        elif isinstance(item, float) and not math.isfinite(item):
            raise BadInput("the number is not finite", where=place[:200], advice="JSON has no NaN and no infinity.")
        elif isinstance(item, int | float) and not -BEYOND <= item < BEYOND:
            raise BadInput("the number exceeds 64 bits", where=place[:200], advice="Keep numbers within 9.2e18.")
