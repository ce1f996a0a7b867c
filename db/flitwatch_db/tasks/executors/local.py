"""Calls in processes on this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TypeVar

from flitwatch_domain.errors import Cancelled, Unavailable

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
