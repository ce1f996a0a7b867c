"""A task in a separate process with limits, which can be ended at any time."""

from __future__ import annotations

import contextlib
import errno
import importlib
import logging
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import orjson

from flitwatch_db.tasks.context import BEAT_S, Handler, TaskContext
from flitwatch_db.tasks.record import TaskRecord
from flitwatch_domain.errors import Cancelled, FlitwatchError, name_extra
from flitwatch_domain.json_logs import request_id

log = logging.getLogger(__name__)

#: Seconds after the request to stop until the task gets SIGTERM, and until it is killed.
TERM_AFTER_S, KILL_AFTER_S = 2.0, 5.0
#: Interval of memory checks; a task can exceed its limit by what it allocates in about this time.
LOOK_S = 0.5
GIB = 2**30
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Limits:
    """Limits of one task, including its child processes.

    Attributes
    ----------
    memory_gib : float
        Resident memory, measured from outside: address space is not meaningful for a process that loads PyTorch.
    hours : float
        Wall time of one attempt.
    file_gib : float
        Size of each file that it writes (RLIMIT_FSIZE).
    """

    memory_gib: float = 8.0
    hours: float = 24.0
    file_gib: float = 8.0

    def within(self, other: Limits | None) -> Limits:
        """Return the smaller of each pair of limits."""
        if other is None:
            return self
        return Limits(*(min(pair) for pair in zip(astuple(self), astuple(other), strict=True)))


_USERS = Limits(memory_gib=4.0, hours=2.0, file_gib=1.0)
_OPERATORS = Limits(memory_gib=8.0, hours=12.0, file_gib=8.0)
#: Limits of a task by its author's role; tasks of an admin or of a command have only the worker's limits.
LIMITS_BY_ROLE = {"viewer": _USERS, "user": _USERS, "service": _OPERATORS, "operator": _OPERATORS}


@dataclass(frozen=True)
class Ending:
    """End of an attempt: `succeeded`, `failed`, `cancelled`, or `lost` if its process died without a result."""

    state: str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TaskProcess:
    """One attempt of a task.

    Parameters
    ----------
    module, name : str
        The task's name and the module with its table HANDLERS.
    modules : list of str
        Modules that the fork server loads once for all tasks.
    prepare : callable, optional
        Called first in the process, for instance to set up logging; imported by name there.
    executor : str
        Executor of the task's independent parts.
    """

    def __init__(
        self,
        module: str,
        name: str,
        modules: list[str],
        limits: Limits,
        prepare: Callable[[], None] | None = None,
        executor: str = "local:1",
    ) -> None:
        self._module, self._name = module, name
        self._limits = limits
        self._prepare = prepare
        self._executor = executor
        # Not `fork`, because the worker has threads. Not `spawn`, because every task would load all modules again.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(modules)

    def run(self, args: dict[str, Any], record: TaskRecord, stopping: Callable[[], bool]) -> Ending:
        """Run to the end, the limit or the request to stop; no process of the task is left running."""
        ours, theirs = self._context.Pipe()
        child = self._context.Process(
            target=_run_task,
            args=(
                self._module,
                self._name,
                args,
                (record.dsn, record.task_id, theirs, self._executor),
                self._limits,
                self._prepare,
                request_id.get(),
            ),
            name=f"task {record.task_id}",
        )
        child.start()
        theirs.close()
        with ours:
            try:
                return self._watch_child(child, ours, record, stopping)
            finally:
                _send_signal(child, signal.SIGKILL)
                child.join()

    def _watch_child(
        self, child: BaseProcess, pipe: Connection, record: TaskRecord, stopping: Callable[[], bool]
    ) -> Ending:
        begun = looked = time.monotonic()
        cancelled_at_s: float | None = None
        terminated = False
        while True:
            try:
                if pipe.poll(BEAT_S):
                    message = orjson.loads(pipe.recv_bytes())
                    if "progress" not in message:
                        return Ending(**message)
                    record.report(*message["progress"])
                elif not child.is_alive():
                    raise EOFError
            except (EOFError, OSError):
                return Ending("lost" if cancelled_at_s is None else "cancelled")
            now = time.monotonic()
            if cancelled_at_s is None and (record.cancelled() or stopping()):
                cancelled_at_s = now
                with contextlib.suppress(OSError):
                    pipe.send_bytes(b"cancel")
            if cancelled_at_s is not None and now - cancelled_at_s >= KILL_AFTER_S:
                return Ending("cancelled")
            if cancelled_at_s is not None and now - cancelled_at_s >= TERM_AFTER_S and not terminated:
                _send_signal(child, signal.SIGTERM)
                terminated = True
            if now - begun > self._limits.hours * 3600:
                return _make_limit_ending("ran longer than", f"{self._limits.hours:g} hours", "")
            if now - looked >= LOOK_S:
                looked = now
                if resident_bytes(_get_pid(child)) > self._limits.memory_gib * GIB:
                    return _make_limit_ending("used more than", f"{self._limits.memory_gib:g} GiB", " of memory")


def _make_limit_ending(did: str, limit: str, of_what: str) -> Ending:
    words = f"ended: it {did} {limit}{of_what}; your limit is {limit}. Ask for less: a smaller machine, fewer messages or fewer runs."
    return Ending("failed", error={"kind": "too-costly", "message": words})


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and all its descendants; 0 for one that has ended."""
    total = 0
    for descendant in _iterate_family(pid):
        with contextlib.suppress(OSError, ValueError):
            total += int(Path(f"/proc/{descendant}/statm").read_text().split()[1]) * _PAGE
    return total


def _iterate_family(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                    yield from _iterate_family(int(child))


def _get_pid(child: BaseProcess) -> int:
    assert child.pid is not None
    return child.pid


def _send_signal(child: BaseProcess, number: signal.Signals) -> None:
    """Send a signal to a task's process group, or only to the process before it has its own group."""
    try:
        os.killpg(_get_pid(child), number)
    except ProcessLookupError:
        if child.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(_get_pid(child), number)


def _run_task(
    module: str,
    name: str,
    args: dict[str, Any],
    outside: tuple[str, int, Connection, str],
    limits: Limits,
    prepare: Callable[[], None] | None,
    request: str | None,
) -> None:
    """Run a task in its process, in a new process group, so that signals reach its children, and the terminal's signals do not reach it."""
    os.setsid()
    size = int(limits.file_gib * GIB)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if prepare is not None:
        prepare()
    request_id.set(request)
    context = TaskContext(*outside)
    handler: Handler = importlib.import_module(module).HANDLERS[name]
    context.end(_run_handler(handler, args, context, limits))
    # The worker ends the rest of the group.
    while True:
        signal.pause()


def _run_handler(handler: Handler, args: dict[str, Any], context: TaskContext, limits: Limits) -> bytes:
    try:
        return orjson.dumps({"state": "succeeded", "result": handler(args, context)}, option=orjson.OPT_NON_STR_KEYS)
    except Cancelled:
        return orjson.dumps({"state": "cancelled"})
    except FlitwatchError as known:
        return _encode_failure(known.kind, str(known))
    except Exception as unknown:
        if isinstance(unknown, OSError) and unknown.errno == errno.EFBIG:
            limit = f"{limits.file_gib:g} GiB"
            return _encode_failure("too-costly", f"ended: it wrote a file larger than {limit}; your limit is {limit}.")
        if isinstance(unknown, ModuleNotFoundError) and (lacking := name_extra(unknown)):
            return _encode_failure(lacking.kind, str(lacking))
        log.exception("task %d failed", context.task_id)
        return _encode_failure("internal", f"{type(unknown).__name__}: {unknown}")


def _encode_failure(kind: str, message: str) -> bytes:
    return orjson.dumps({"state": "failed", "error": {"kind": kind, "message": message}})
