"""Threads for blocking work, with limits on running and waiting jobs. Further jobs are refused at once."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from flitwatch_domain.errors import TooMany

T = TypeVar("T")


class WorkerThreads:
    """Pool of threads with a bounded queue.

    Parameters
    ----------
    name : str        name of the threads, and of the work in the refusal
    threads : int     simultaneous jobs
    waiting : int     waiting jobs
    retry_after_s : int
    """

    def __init__(self, name: str, threads: int, waiting: int, retry_after_s: int = 5) -> None:
        self._name, self._retry_after_s = name, retry_after_s
        self._places = threading.Semaphore(threads + waiting)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in a thread.

        Raises
        ------
        TooMany
            The queue is full; the work was not started.
        """
        if not self._places.acquire(blocking=False):
            raise TooMany(
                f"too many requests are waiting for {self._name}",
                advice="Send it again after the time in Retry-After.",
                retry_after_s=self._retry_after_s,
            )
        try:
            running = self._threads.submit(contextvars.copy_context().run, work)
        except RuntimeError:
            self._places.release()
            raise
        # Its slot is freed when the work ends, which can be after the caller has left.
        running.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(running)

    def stop(self) -> None:
        """Start no more work, and let running work finish."""
        self._threads.shutdown(wait=False, cancel_futures=True)
