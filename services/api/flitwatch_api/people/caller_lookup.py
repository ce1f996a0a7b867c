"""Batched database lookups of sessions and tokens: lookups during a statement share the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from flitwatch_db.core.columns import Connection
from flitwatch_db.people import checks
from flitwatch_db.people.checks import Secret
from flitwatch_domain.access import Caller

Asking = Callable[[], AbstractAsyncContextManager[Connection]]


class CallerLookup:
    """Looks up the callers of secrets, on one connection at a time.

    Parameters
    ----------
    asking : callable
        Returns a context manager with a connection of role `gate`.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._waiting: dict[Secret, asyncio.Future[Caller | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def of(self, secret: Secret) -> Caller | None:
        """Return the current caller of a secret; None if there is none.

        Raises
        ------
        psycopg.Error, FlitwatchError
            The database does not answer.
        """
        # Do not join a running statement: it can have read the database before a change that the caller knows of.
        answer = self._waiting.get(secret)
        if answer is None:
            answer = self._waiting[secret] = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ask_waiting())
        return await asyncio.shield(answer)

    async def _ask_waiting(self) -> None:
        while self._waiting:
            batch: dict[Secret, asyncio.Future[Caller | None]] = {}
            try:
                async with self._asking() as conn:
                    batch, self._waiting = self._waiting, {}
                    callers = await checks.find_callers(conn, batch.keys())
            except Exception as problem:
                if not batch:
                    batch, self._waiting = self._waiting, {}
                for answer in batch.values():
                    answer.set_exception(problem)
                    # The waiting caller may have left.
                    answer.exception()
                continue
            for secret, answer in batch.items():
                answer.set_result(callers.get(secret))
