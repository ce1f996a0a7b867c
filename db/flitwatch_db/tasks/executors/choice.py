"""Syntax of executors: `local[:N]`, `dask[:N]`, `tcp://HOST:PORT` or `tls://HOST:PORT`, `slurm:JOBS`."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from flitwatch_domain.errors import BadRequest, Cancelled, Unavailable

T = TypeVar("T")

#: Interval of checks for a stop request.
LOOK_S = 0.25


@dataclass(frozen=True)
class LocalExecutor:
    """Executor with `workers` processes; with one worker, calls run in this process."""

    workers: int

    @property
    def in_process(self) -> bool:
        """Return whether calls run in the caller's own process."""
        return self.workers == 1

    def completed(
        self, calls: Sequence[Callable[[], T]], cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, T]]:
        """Yield results as in `Executor.completed`; a call in this process is only cancelled if it checks for that itself."""
        if self.in_process:
            for number, call in enumerate(calls):
                if cancelled():
                    raise Cancelled("the work was cancelled")
                yield number, call()
            return
        if not calls:
            return
        before = set(multiprocessing.active_children())
        # Not `fork`, because this process may have threads.
        pool = ProcessPoolExecutor(min(self.workers, len(calls)), mp_context=multiprocessing.get_context("spawn"))
        waiting: dict[Future[T], int] = {}
        try:
            waiting.update({pool.submit(call): number for number, call in enumerate(calls)})
            while waiting:
                ended, _ = wait(waiting, LOOK_S, FIRST_COMPLETED)
                for future in ended:
                    yield waiting.pop(future), future.result()
                if cancelled():
                    raise Cancelled("the work was cancelled")
        except BrokenProcessPool as broken:
            raise Unavailable(
                "a process of the local executor died", advice="Memory may have run out. Use fewer processes."
            ) from broken
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            if waiting:
                for child in set(multiprocessing.active_children()) - before:
                    child.kill()
            pool.shutdown(wait=True)


GRAMMAR = (
    "Use local[:PROCESSES], dask[:WORKERS] (a Dask cluster on this machine), the address of a Dask scheduler"
    " (tcp://HOST:PORT or tls://HOST:PORT), or slurm:JOBS (a Dask cluster in Slurm jobs)."
)
#: Maximum number of processes, workers or jobs.
MOST = 4096


class Executor(Protocol):
    """Executor of independent calls."""

    @property
    def workers(self) -> int:
        """Return the number of calls that can run at the same time; 0 while a cluster has no worker yet."""

    @property
    def in_process(self) -> bool:
        """Return whether calls run in the caller's own process, where they may share its objects and must check for cancellation."""

    def completed(
        self, calls: Sequence[Callable[[], T]], cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, T]]:
        """Yield (index in `calls`, result) of each call, in order of completion.

        Raises
        ------
        Cancelled
            Soon after `cancelled` returns True; running calls are ended.
        Unavailable
            If the processes or the cluster are gone.
        Exception
            The exception of a failed call; the others are ended.
        """


def is_local(where: str) -> bool:
    """Return whether calls stay in processes of this machine."""
    return _parse_name(where)[0] == "local"


@contextmanager
def open_executor(where: str, processes: int | None = None) -> Iterator[Executor]:
    """Yield the executor of this name and close it at the end; `processes` is the default for a local one without a number. Raise BadRequest if the
    name is unknown; the message lists the known ones. Raise MissingDependency or Unavailable if Dask is not installed, or its scheduler does not
    respond."""
    kind, number = _parse_name(where)
    if kind == "local":
        yield LocalExecutor(number or processes or len(os.sched_getaffinity(0)))
        return
    from flitwatch_db.tasks.executors import cluster

    if kind == "dask":
        opened = cluster.on_this_machine(number or processes or len(os.sched_getaffinity(0)))
    elif kind == "slurm":
        opened = cluster.in_slurm_jobs(number or 1)
    else:
        opened = cluster.at_address(where)
    with opened as executor:
        yield executor


def _parse_name(where: str) -> tuple[str, int | None]:
    """Parse a name to (kind, number); the kind of an address is `address`."""
    if re.fullmatch(r"(tcp|tls)://[^\s/:]+:\d{1,5}|(tcp|tls)://\[[0-9a-fA-F:.]+\]:\d{1,5}", where):
        return "address", None
    match = re.fullmatch(r"(local|dask|slurm)(?::(\d{1,5}))?", where)
    number = int(match[2]) if match and match[2] else None
    if match is None or (number is not None and not 1 <= number <= MOST):
        raise BadRequest(f"{where!r} names no executor", advice=GRAMMAR)
    return match[1], number
