"""Interface of a running task in its own process: it reports progress and receives the cancel flag."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import orjson

from flitwatch_domain.errors import Cancelled

#: Interval of progress reports.
BEAT_S = 0.25

#: A handler gets the task's arguments and its context, and returns the result; both are JSON objects.
Handler = Callable[[dict[str, Any], "TaskContext"], Mapping[str, Any]]


class TaskContext:
    """Context of a handler; its methods can be called from any thread at any rate.

    Parameters
    ----------
    dsn : str
        URL of the database.
    task_id : int
    pipe : Connection
        Connection to the worker: it sends progress and the result as JSON, and any received message is a request to stop.
    executor : str
        Executor of the task's independent parts; see `flitwatch_db.tasks.executors`.
    """

    def __init__(self, dsn: str, task_id: int, pipe: Connection, executor: str = "local:1") -> None:
        self.dsn = dsn
        self.executor = executor
        self.task_id = task_id
        self._pipe = pipe
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._progress: tuple[int, int, str] | None = None
        threading.Thread(target=self._relay_progress, name=f"task {task_id}", daemon=True).start()

    def report(self, done: int, total: int, message: str = "") -> None:
        """Report progress: `done` of `total` (0: unknown), and a message."""
        with self._lock:
            self._progress = (int(done), int(total), message[:500])

    def cancelled(self) -> bool:
        """Return whether to stop: the owner cancelled, or the worker is shutting down (then the task is restarted elsewhere)."""
        return self._cancel.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the work should stop."""
        if self.cancelled():
            raise Cancelled(f"task {self.task_id} was cancelled")

    def end(self, ending: bytes) -> None:
        """Send the last progress and the result."""
        self._tell_progress()
        with self._lock:
            self._pipe.send_bytes(ending)

    def _tell_progress(self) -> None:
        with self._lock:
            if self._progress is not None:
                self._pipe.send_bytes(orjson.dumps({"progress": self._progress}))
                self._progress = None

    def _relay_progress(self) -> None:
        """Send progress and wait for the cancel flag; if the worker is gone, end the process and its children."""
        with contextlib.suppress(OSError, EOFError):
            while True:
                if self._pipe.poll(BEAT_S):
                    self._pipe.recv_bytes()
                    self._cancel.set()
                self._tell_progress()
        os.killpg(os.getpgrp(), signal.SIGKILL)
