"""Interface of a running task in its own process: it reports progress and receives the cancel flag."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypedDict

import orjson

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.task_models.simulations import Count

if TYPE_CHECKING:
    from flitwatch_db.core.maintenance import Retention


#: Interval of checks of the cancel flag while waiting.
PATIENCE_S = 0.1


def lazy_handler(place: str) -> Handler:
    """Return a handler given as module:function, which is imported when its first task runs."""

    def handler(args: dict[str, Any], context: TaskContext) -> Mapping[str, Any]:
        module, function = place.split(":")
        run: Handler
        run = getattr(importlib.import_module(module), function)
        return run(args, context)

    return handler


class Counted(TypedDict):
    """Result of the counting example."""

    counted: int


def run_count(args: dict[str, Any], context: TaskContext) -> Counted:
    """Run `demo.count {to, delay_s}`: count with a pause before each number; the end-to-end example."""
    request = Count.of(args)
    for number in range(request.to):
        due = time.monotonic() + request.delay_s
        while (remaining_s := due - time.monotonic()) > 0:
            context.check()
            time.sleep(min(remaining_s, PATIENCE_S))
        context.check()
        context.report(number + 1, request.to, f"counted to {number + 1}")
    return {"counted": request.to}


def run_maintenance(args: dict[str, Any], context: TaskContext) -> Retention:
    """Run `db.maintain {}`: retention and policies."""
    from flitwatch_db.core.maintenance import maintain_database as run

    def step(done: int, total: int, what: str) -> None:
        context.check()
        context.report(done, total, what)

    return run(context.dsn, on_step=step)


#: Tasks that a worker of this package can run.
HANDLERS: dict[str, Handler] = {"demo.count": run_count, "db.maintain": run_maintenance}


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
