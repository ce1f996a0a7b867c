"""State for advice: read in the background, kept while the database or a worker is unavailable."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from flitwatch_api.advice.reader import Reader
from flitwatch_domain.advice.basis import Basis
from flitwatch_domain.errors import FlitwatchError, Unavailable

log = logging.getLogger(__name__)

REFRESH_S = 15.0
#: Reading pauses without questions. The first question after a pause waits up to RENEWED_IN_S for new state.
IDLE_S, RENEWED_IN_S = 300.0, 3.0


class AdviceState:
    """Holds the newest basis, which is replaced as a whole.

    Parameters
    ----------
    url : str     the database
    """

    def __init__(self, url: str) -> None:
        self._reader = Reader(url)
        self._basis: Basis | None = None
        self._read_at = self._asked_at = 0.0
        self._away = False
        self._task: asyncio.Task[None] | None = None
        self._first = asyncio.Lock()
        self._tried = asyncio.Event()

    async def get(self) -> tuple[Basis, float, bool]:
        """Return the basis, its age in seconds, and whether the last read failed. Raise Unavailable if none was ever read."""
        self._asked_at = time.monotonic()
        if self._basis is None:
            async with self._first:
                if self._basis is None:
                    await self._read_basis()
        if self._task is None or self._task.done():
            self._tried.clear()
            self._task = asyncio.create_task(self._refresh_loop())
        if not self._tried.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._tried.wait(), RENEWED_IN_S)
        assert self._basis is not None
        return self._basis, time.monotonic() - self._read_at, self._away

    async def stop(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await asyncio.to_thread(self._reader.stop)

    async def _read_basis(self) -> None:
        try:
            self._basis = await asyncio.to_thread(self._reader.read)
        except Unavailable:
            self._away = True
            raise
        self._read_at, self._away = time.monotonic(), False

    async def _refresh_loop(self) -> None:
        while time.monotonic() - self._asked_at < IDLE_S:
            spent = time.monotonic()
            if self._read_at < spent - REFRESH_S:
                try:
                    await self._read_basis()
                except FlitwatchError as problem:
                    log.warning("advice keeps its old state: %s", problem.message)
            self._tried.set()
            # Reading a large site takes long, but uses at most a tenth of the database's time.
            await asyncio.sleep(max(REFRESH_S, 10 * (time.monotonic() - spent)))
        self._tried.set()
        await asyncio.to_thread(self._reader.stop)
