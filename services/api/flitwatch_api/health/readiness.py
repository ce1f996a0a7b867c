"""Readiness: whether the database answers, and whether this version supports its schema."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from flitwatch_db.core.columns import Connection
from flitwatch_db.migrations.runner import list_misfit_migrations
from flitwatch_domain.errors import Unavailable

#: Time that a probe waits for the database.
ANSWERS_S = 2.0


class Readiness:
    """Sends one database query for all concurrent probes.

    Parameters
    ----------
    reading : callable
        Returns a context manager with a connection of role `reader`.
    """

    def __init__(self, reading: Callable[[], AbstractAsyncContextManager[Connection]]) -> None:
        self._reading = reading
        self._asking: asyncio.Task[tuple[list[str], list[str]]] | None = None

    async def check(self) -> None:
        """Return if requests can be answered.

        Raises
        ------
        Unavailable
            The database does not answer within ANSWERS_S, or this version does not support its tables.
        psycopg.OperationalError
            The database is unavailable.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_database())
        # Not cancelled with the probe: a cancelled statement would also wait for the server. The connection's own deadline ends it.
        done, _ = await asyncio.wait({self._asking}, timeout=ANSWERS_S)
        if not done:
            raise Unavailable(
                f"the database has not answered for {ANSWERS_S:g} s",
                advice="Check its processes: a stopped process (state T in ps) or a stalled disk prevents it from answering.",
            )
        missing, ending = self._asking.result()
        if ending:
            raise Unavailable(
                f"the database has a newer version's schema: migration {ending[0]} ended this version",
                advice="Use the newer Flitwatch.",
            )
        if missing:
            raise Unavailable(
                f"the database lacks {len(missing)} migrations, the first is {missing[0]}",
                advice="Run `flitwatch db migrate`.",
            )

    async def stop(self) -> None:
        """Wait for the last query."""
        if self._asking is not None:
            await asyncio.wait({self._asking})

    async def _ask_database(self) -> tuple[list[str], list[str]]:
        async with self._reading() as conn:
            return await list_misfit_migrations(conn)
