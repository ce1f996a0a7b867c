"""State of one API process: connections, topologies, cached counters, the event hub."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

import psycopg
from fastapi import Depends, Request

from flitwatch_api.advice.reader import AdviceState
from flitwatch_api.counters.store import CounterStore
from flitwatch_api.events.hub import Hub
from flitwatch_api.fabric.topology import Topologies
from flitwatch_api.ingest.lag import LogEnds, Readiness
from flitwatch_api.jobs.links import JobLink
from flitwatch_api.settings import Settings
from flitwatch_api.shared_answers import SharedAnswers
from flitwatch_db import async_pool, connect
from flitwatch_db.core.columns import Connection
from flitwatch_db.core.deadlines import STILL_S
from flitwatch_db.core.log_keep import disk_of
from flitwatch_domain.advice.pattern import Parts
from flitwatch_domain.errors import TooMany, Unavailable

T = TypeVar("T")


class WorkerThreads:
    """Pool of threads with a bounded queue.

    Parameters
    ----------
    name : str        name of the threads, and of the work in the refusal
    threads : int     simultaneous jobs
    waiting : int     waiting jobs
    """

    def __init__(self, name: str, threads: int, waiting: int, retry_after_s: int = 5) -> None:
        self._name, self._retry_after_s = name, retry_after_s
        self._places = threading.Semaphore(threads + waiting)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in a thread. Raise TooMany if the queue is full; the work was not started."""
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


log = logging.getLogger(__name__)

#: Threads and queue lengths. A password check takes 64 MiB and a third of a second on several cores.
DATABASE_THREADS, PASSWORD_THREADS, KNOWN_PASSWORD_THREADS = (8, 256), (2, 16), (1, 8)
#: Memory for responses that viewers share.
ANSWERS_BYTES = 64 << 20
#: How long to retry a lost caller-lookup connection before the next caller starts a new one. Longer pauses would outlast the outage.
RECONNECT_S = 2.0


class Platform:
    """Parts that requests share.

    Raises
    ------
    Unavailable
        The settings name no database, or no PostgreSQL URL.
    """

    def __init__(self, settings: Settings) -> None:
        url = settings.db.get_secret_value()
        if not url:
            raise Unavailable("no database is configured", advice="Set FLITWATCH_DB or use `flitwatch api --db URL`.")
        self.settings = settings
        self.url = url
        self.job_links = [JobLink.read(text) for text in settings.api_job_links]
        self._statement_s = settings.api_statement_timeout_ms / 1000
        self.pool = async_pool(
            url,
            role="reader",
            min_size=1,
            max_size=settings.api_pool_max,
            application="flitwatch api",
            statement_s=self._statement_s,
        )
        # One connection looks up all callers; without logins there is none.
        self.gate = async_pool(
            url,
            role="gate",
            min_size=0,
            max_size=1,
            application="flitwatch api callers",
            reconnect_s=RECONNECT_S,
            statement_s=self._statement_s,
        )
        self._threads = WorkerThreads("the database", *DATABASE_THREADS)
        self.passwords = WorkerThreads("a check of passwords", *PASSWORD_THREADS)
        #: For browsers and sessions that the account's owner used before, so that a flood of others does not delay them.
        self.known_passwords = WorkerThreads("a check of passwords", *KNOWN_PASSWORD_THREADS)
        self.readiness = Readiness(self.reading)
        self.disk = disk_of(url)
        self.log_ends = LogEnds(settings.log.get_secret_value())
        self.hub = Hub(url, settings.api_streams_max, settings.api_streams_each)
        self.topologies = Topologies(self.hub, self.in_thread)
        self.store = CounterStore(self.reading, settings.api_cache_mb << 20)
        self.advice = AdviceState(url)
        self.advice_parts = Parts.of(settings.advice_parts)
        self.answers = SharedAnswers(ANSWERS_BYTES, lambda: self.hub.listening)
        self.hub.on_event(self.answers.on_event)
        self.hub.on_event(self.store.on_event)
        self.hub.on_event(self.topologies.on_event)

    async def start(self) -> None:
        """Start connecting. If the database is unavailable, keep trying."""
        await self.pool.open(wait=False)
        await self.gate.open(wait=False)
        self.hub.start()

    async def stop(self) -> None:
        """End the streams and close the connections."""
        await self.advice.stop()
        await self.hub.stop()
        await self.readiness.stop()
        for threads in (self._threads, self.passwords, self.known_passwords):
            threads.stop()
        await self.pool.close(timeout=5)
        await self.gate.close(timeout=5)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """Yield a reader connection in its own transaction."""
        async with self.pool.connection(timeout=self.settings.api_connect_timeout_s) as conn:
            yield conn

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[Connection]:
        """Yield the connection for sessions and tokens in its own transaction."""
        async with self.gate.connection(timeout=self.settings.api_connect_timeout_s) as conn:
            yield conn

    async def in_thread(
        self, role: Any, work: Callable[[psycopg.Connection[Any]], T], threads: WorkerThreads | None = None
    ) -> T:
        """Run blocking work on its own connection, and commit at the end.

        Parameters
        ----------
        threads : WorkerThreads, optional
            Threads instead of the database's: `passwords`, `known_passwords`.

        Raises
        ------
        TooMany
            The queue of these threads is full.
        Unavailable, psycopg.OperationalError
            The database does not answer, or the connection was lost.
        """

        def run() -> T:
            try:
                conn = connect(
                    self.url,
                    role=role,
                    application="flitwatch api",
                    statement_s=self._statement_s,
                    # A reader holds no locks while it computes.
                    still_s=None if role == "reader" else STILL_S,
                    connect_s=self.settings.api_connect_timeout_s,
                )
            except Unavailable as problem:
                # The database's address and the advice are for operators only.
                log.warning("%s; %s", problem.message, problem.advice)
                raise Unavailable("the database does not answer") from None
            with conn:
                return work(conn)

        return await (threads or self._threads).run(run)


async def get_platform(request: Request) -> Platform:
    """Return the platform of the application that serves a request."""
    # Asynchronous, so that FastAPI needs no thread to call it.
    platform: Platform = request.app.state.platform
    return platform


async def _open_reader(platform: Annotated[Platform, Depends(get_platform)]) -> AsyncIterator[Connection]:
    async with platform.reading() as conn:
        yield conn


ThePlatform = Annotated[Platform, Depends(get_platform)]
Reader = Annotated[Connection, Depends(_open_reader)]
