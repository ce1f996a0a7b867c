"""The state that advice is given from: read in the background, kept when the database or a worker is away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

import psycopg

from flitwatch_db.advice import Basis, load
from flitwatch_domain.errors import FlitwatchError, Unavailable

log = logging.getLogger(__name__)

REFRESH_S = 15.0
#: Without questions nothing is read.
IDLE_S = 300.0


class AdviceState:
    """Holds the newest basis.

    Parameters
    ----------
    in_thread : function     runs blocking work with a connection (Platform.in_thread)
    """

    def __init__(self, in_thread: Callable[..., Any]) -> None:
        self._in_thread = in_thread
        self._basis: Basis | None = None
        self._read_at = self._asked_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._first = asyncio.Lock()

    async def get(self) -> tuple[Basis, float]:
        """The basis and its age in seconds; Unavailable where there never was one."""
        self._asked_at = time.monotonic()
        if self._basis is None:
            async with self._first:
                if self._basis is None:
                    await self._read()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._refresh())
        assert self._basis is not None
        return self._basis, time.monotonic() - self._read_at

    async def stop(self) -> None:
        """End the reading."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _read(self) -> None:
        def work(conn: psycopg.Connection[Any]) -> Basis:
            # Only the writer may look at the queue's workers; nothing is written.
            conn.read_only = True
            return load(conn)

        try:
            self._basis = await self._in_thread("writer", work)
        except (psycopg.Error, OSError) as problem:
            raise Unavailable(f"advice has no state yet: {type(problem).__name__}") from None
        self._read_at = time.monotonic()

    async def _refresh(self) -> None:
        while time.monotonic() - self._asked_at < IDLE_S:
            spent = time.monotonic()
            if self._read_at < spent - REFRESH_S:
                try:
                    await self._read()
                except FlitwatchError as problem:
                    log.warning("advice stays on old state: %s", problem.message)
            # A big site's reading takes its time: it never takes more than a tenth of the process's.
            await asyncio.sleep(max(REFRESH_S, 10 * (time.monotonic() - spent)))
