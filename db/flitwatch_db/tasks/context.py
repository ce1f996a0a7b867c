"""View of the outside that a running task has in its own process: progress out, the cancel flag in."""

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

#: Progress is handed over this often.
BEAT_S = 0.25

#: A handler gets the task's argument and its context, and returns the result; both are JSON objects, the result with fields of the task's own.
Handler = Callable[[dict[str, Any], "TaskContext"], Mapping[str, Any]]


class TaskContext:
    """Given to a handler; its methods may be called from any thread and as often as one likes.

    Parameters
    ----------
    dsn : str
        The database.
    task_id : int
    pipe : Connection
        To the worker: reports of progress and the ending go out as JSON; anything that comes in is the request to stop.
    executor : str
        Where the task's independent parts run; see `flitwatch_db.tasks.executors`.
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
        """Say how far the work is: `done` of `total` (0: unknown), and in words."""
        with self._lock:
            self._progress = (int(done), int(total), message[:500])

    def cancelled(self) -> bool:
        """Return whether to stop: the owner asked, or the worker is being shut down (the task then starts again elsewhere)."""
        return self._cancel.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if the work is to stop."""
        if self.cancelled():
            raise Cancelled(f"task {self.task_id} was cancelled")

    def end(self, ending: bytes) -> None:
        """Hand over the last progress and the ending."""
        self._tell_progress()
        with self._lock:
            self._pipe.send_bytes(ending)

    def _tell_progress(self) -> None:
        with self._lock:
            if self._progress is not None:
                self._pipe.send_bytes(orjson.dumps({"progress": self._progress}))
                self._progress = None

    def _relay_progress(self) -> None:
        """Hand over progress and wait for the cancel flag; without a worker to work for, end the process and its children."""
        with contextlib.suppress(OSError, EOFError):
            while True:
                if self._pipe.poll(BEAT_S):
                    self._pipe.recv_bytes()
                    self._cancel.set()
                self._tell_progress()
        os.killpg(os.getpgrp(), signal.SIGKILL)
