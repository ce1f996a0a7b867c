"""Row of a running task, maintained by its worker: writes progress and heartbeats, reads the cancel flag."""

from __future__ import annotations

import logging
import threading
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows
from flitwatch_db.core.connection import connect
from flitwatch_db.core.deadlines import STATEMENT_S, STILL_S
from flitwatch_db.tasks import table
from flitwatch_db.tasks.context import BEAT_S
from flitwatch_domain.access import VISITOR
from flitwatch_domain.errors import FlitwatchError

log = logging.getLogger(__name__)

#: Longest interval of heartbeats, with or without progress.
HEARTBEAT_S = 5.0


class TaskRecord:
    """Writer of one attempt of a task, in a separate thread that tasks cannot block."""

    def __init__(self, dsn: str, task_id: int, attempt: int, heartbeat_s: float = HEARTBEAT_S) -> None:
        self.dsn = dsn
        self.task_id = task_id
        self._attempt = attempt
        self._heartbeat_s = heartbeat_s
        self._ended = threading.Event()
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._progress: tuple[int, int, str] | None = None
        self._monitor = threading.Thread(target=self._update_row, name=f"task {task_id}", daemon=True)

    def report(self, done: int, total: int, message: str) -> None:
        """Record progress, to be written soon."""
        with self._lock:
            self._progress = (done, total, message)

    def cancelled(self) -> bool:
        """Return whether the owner cancelled, or another worker has taken the task."""
        return self._cancel.is_set()

    def __enter__(self) -> TaskRecord:
        self._monitor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._monitor.join()

    def _update_row(self) -> None:
        """Write progress and heartbeats and read the cancel flag until the work ends, reconnecting if necessary."""
        conn: psycopg.Connection[Any] | None = None
        silent_s = self._heartbeat_s
        while True:
            last = self._ended.wait(BEAT_S)
            try:
                if conn is None:
                    conn = connect(
                        self.dsn,
                        role="writer",
                        application=f"flitwatch task {self.task_id}",
                        autocommit=True,
                        statement_s=STATEMENT_S,
                        still_s=STILL_S,
                    )
                with self._lock:
                    progress, self._progress = self._progress, None
                silent_s += BEAT_S
                if progress is not None:
                    self._write_progress(conn, progress)
                    silent_s = 0.0
                elif silent_s >= self._heartbeat_s and not last:
                    conn.execute(
                        "UPDATE task SET heartbeat_at = clock_timestamp() WHERE task_id = %s AND attempts = %s",
                        [self.task_id, self._attempt],
                    )
                    silent_s = 0.0
                self._read_flag(conn)
            except (psycopg.Error, FlitwatchError) as problem:
                log.warning("task %d: progress is not written: %s", self.task_id, problem)
                if conn is not None:
                    conn.close()
                    conn = None
            if last:
                break
        if conn is not None:
            conn.close()

    def _write_progress(self, conn: psycopg.Connection[Any], progress: tuple[int, int, str]) -> None:
        with conn.transaction():
            conn.execute(
                "UPDATE task SET done = %s, total = %s, message = %s, heartbeat_at = clock_timestamp()"
                " WHERE task_id = %s AND attempts = %s AND state = 'running'",
                [*progress, self.task_id, self._attempt],
            )
            table.emit_task_event(conn, self.task_id)

    def _read_flag(self, conn: psycopg.Connection[Any]) -> None:
        row = conn.execute(
            "SELECT cancel_requested OR attempts <> %s OR state <> 'running' FROM task WHERE task_id = %s",
            [self._attempt, self.task_id],
        ).fetchone()
        if row is None or row[0]:
            self._cancel.set()


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
    return await query_rows(
        conn,
        _TASK
        + SQL(
            " WHERE (%(before)s::bigint IS NULL OR task_id < %(before)s) AND (%(name)s::text IS NULL OR name = %(name)s)"
            " AND (%(state)s::text IS NULL OR state = %(state)s) AND"
        )
        + OPEN_TO
        + SQL(" ORDER BY task_id DESC LIMIT %(limit)s"),
        {"before": before, "name": name, "state": state, "limit": limit, "asker": asker, "visitor": VISITOR},
    )


async def find_task(conn: Connection, task_id: int, asker: str | None = None) -> Row | None:
    """Return a task, or None; with `asker`, None for other visitors' tasks."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            _TASK + SQL(" WHERE task_id = %(task)s AND") + OPEN_TO,
            {"task": task_id, "asker": asker, "visitor": VISITOR},
        )
        return await cursor.fetchone()
