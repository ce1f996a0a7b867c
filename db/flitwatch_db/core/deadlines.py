"""Connections with a deadline for every wait, because a server can freeze.

PostgreSQL ends a slow statement itself (`statement_timeout`), and the kernel gives up a dead network (`flitwatch_domain.logins`). Neither helps if
the server's process is stopped, because its kernel still responds.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import _WaitTimeout
from psycopg_pool import AsyncConnectionPool

RV = TypeVar("RV")

#: Additional wait of a client, so that the server's own error comes first.
GRACE_S = 5.0
#: Longest idle time of a service in a transaction. Its connection is then ended, because others wait for its locks.
STILL_S = 30.0
#: The server ends a statement of a service that takes longer: what only keeps books, and what writes a batch or evaluates a rule. Maintenance has no such limit.
STATEMENT_S, LONG_STATEMENT_S = 30.0, 120.0
#: How long a server may take to answer whether a connection still works.
CHECK_S = 2.0
_INTERVAL_S = 0.1


class DeadlineConnection(psycopg.Connection[Any]):
    """Connection that is closed if the server has not responded for `deadline_s`; the waiting caller gets OperationalError."""

    deadline_s: float | None = None

    @classmethod
    def connect(cls, *args: Any, **kwargs: Any) -> Self:
        """Connect to a server.

        A failed attempt leaves no half-open connection, on which the server, and DROP DATABASE, would wait for a minute.
        """
        try:
            return super().connect(*args, **kwargs)
        except psycopg.Error as problem:
            # psycopg's traceback has a cycle, which would keep the socket open until the next garbage collection.
            raise problem.with_traceback(None) from None

    def wait(self, gen: PQGen[RV], interval: float = _INTERVAL_S, timeout: float | None = None) -> RV:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.deadline_s)
        except _WaitTimeout:
            # A later response would belong to no statement.
            self.pgconn.finish()
            raise make_frozen_error(self.deadline_s) from None


class AsyncDeadlineConnection(psycopg.AsyncConnection[Any]):
    """Asynchronous version of `DeadlineConnection`."""

    deadline_s: float | None = None

    @classmethod
    async def connect(cls, *args: Any, **kwargs: Any) -> Self:
        try:
            return await super().connect(*args, **kwargs)
        except psycopg.Error as problem:
            raise problem.with_traceback(None) from None

    async def wait(self, gen: PQGen[RV], interval: float = _INTERVAL_S, timeout: float | None = None) -> RV:
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await super().wait(gen, interval, self.deadline_s)
        except _WaitTimeout:
            self.pgconn.finish()
            raise make_frozen_error(self.deadline_s) from None


def make_frozen_error(deadline_s: float | None) -> psycopg.OperationalError:
    """Return the error for a server that does not respond."""
    return psycopg.OperationalError(f"the server has not answered for {deadline_s:g} s")


async def check_connection(conn: AsyncDeadlineConnection) -> None:
    """Check that a connection still works; raise OperationalError if it does not, or if this takes longer than CHECK_S."""
    previous_s, conn.deadline_s = conn.deadline_s, CHECK_S
    try:
        await AsyncConnectionPool.check_connection(conn)
    finally:
        conn.deadline_s = previous_s
