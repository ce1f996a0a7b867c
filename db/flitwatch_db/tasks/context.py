"""What a running task sees of the outside: progress out, the cancel flag in."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from flitwatch_db.connection import connect
from flitwatch_db.tasks import table
from flitwatch_domain.errors import Cancelled, FlitwatchError

log = logging.getLogger(__name__)

#: Progress is written, and the cancel flag read, this often.
BEAT_S = 0.25
#: The heartbeat is written at least this often, with or without progress.
HEARTBEAT_S = 5.0

#: A handler gets the task's argument and its context, and returns the result; both are JSON objects.
Handler = Callable[[dict[str, Any], "TaskContext"], dict[str, Any]]


class TaskContext:
    """Given to a handler; its methods may be called from any thread and as often as one likes."""

    def __init__(self, dsn: str, task_id: int, attempt: int, stopping: threading.Event) -> None:
        self.dsn = dsn
        self.task_id = task_id
        self._attempt = attempt
        self._stopping = stopping
        self._ended = threading.Event()
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._progress: tuple[int, int, str] | None = None
        self._monitor = threading.Thread(target=self._watch, name=f"task {task_id}", daemon=True)

    def report(self, done: int, total: int, message: str = "") -> None:
        """Say how far the work is: `done` of `total` (0: unknown), and in words."""
        with self._lock:
            self._progress = (int(done), int(total), message[:500])

    def cancelled(self) -> bool:
        """Whether to stop: the owner asked, or the worker is being shut down (the task then starts again elsewhere)."""
        return self._cancel.is_set() or self._stopping.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the work is to stop."""
        if self.cancelled():
            raise Cancelled(f"task {self.task_id} was cancelled")

    @property
    def by_owner(self) -> bool:
        """Whether it was the owner who asked to stop."""
        return self._cancel.is_set()

    def __enter__(self) -> TaskContext:
        self._monitor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._monitor.join()

    def _watch(self) -> None:
        """Write progress and heartbeats and read the cancel flag until the work ends, through losses of the connection."""
        conn: psycopg.Connection[Any] | None = None
        silent_s = HEARTBEAT_S
        while True:
            last = self._ended.wait(BEAT_S)
            try:
                if conn is None:
                    conn = connect(
                        self.dsn, role="writer", application=f"flitwatch task {self.task_id}", autocommit=True
                    )
                with self._lock:
                    progress, self._progress = self._progress, None
                silent_s += BEAT_S
                if progress is not None:
                    self._write(conn, progress)
                    silent_s = 0.0
                elif silent_s >= HEARTBEAT_S and not last:
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

    def _write(self, conn: psycopg.Connection[Any], progress: tuple[int, int, str]) -> None:
        with conn.transaction():
            conn.execute(
                "UPDATE task SET done = %s, total = %s, message = %s, heartbeat_at = clock_timestamp()"
                " WHERE task_id = %s AND attempts = %s AND state = 'running'",
                [*progress, self.task_id, self._attempt],
            )
            table.tell(conn, self.task_id)

    def _read_flag(self, conn: psycopg.Connection[Any]) -> None:
        row = conn.execute(
            "SELECT cancel_requested OR attempts <> %s OR state <> 'running' FROM task WHERE task_id = %s",
            [self._attempt, self.task_id],
        ).fetchone()
        if row is None or row[0]:
            self._cancel.set()
