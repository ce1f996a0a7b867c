"""The writer's connection, and transactions that are retried until committed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from flitwatch_db import connect
from flitwatch_db.core.deadlines import LONG_STATEMENT_S, STILL_S
from flitwatch_db.ingest import store as ingest
from flitwatch_db.ingest.store import Position, Reader
from flitwatch_domain.errors import Cancelled, Unavailable
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.measures import Measures

log = logging.getLogger(__name__)

#: Delay between tries to write; after an outage, records wait for the rest of one delay.
LONGEST_PAUSE_S = 1.0
#: Errors of a connection whose server is unreachable, refuses temporarily, or closed it.
AWAY = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
    Unavailable,
)


class Database:
    """One connection with role writer, reopened when it breaks.

    Parameters
    ----------
    reader : callable
        Returns the consumer group and the log's identity, which is requested once the log answers.
    stop : threading.Event
        Set it to end waiting.
    """

    def __init__(self, url: str, reader: Callable[[], Reader], stop: threading.Event, measures: Measures) -> None:
        self._url = url
        self._reader = reader
        self._stop = stop
        self._measures = measures
        self._conn: psycopg.Connection[Any] | None = None

    @property
    def conn(self) -> psycopg.Connection[Any]:
        """The connection, in autocommit. Raise Unavailable if the server does not answer."""
        if self._conn is None or self._conn.closed:
            # A crash loses positions and rows together; the records are then read again from the log.
            self._conn = connect(
                self._url,
                role="writer",
                durable=False,
                application="flitwatch writer",
                autocommit=True,
                statement_s=LONG_STATEMENT_S,
                still_s=STILL_S,
            )
        return self._conn

    def positions(self) -> dict[tuple[str, int], Position]:
        """Return the group's positions in its log."""
        return ingest.load_positions(self.conn, self._reader())

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()

    def write(self, batch: Batch) -> None:
        """Write a batch in one transaction, with retries until it is certain that it was committed exactly once. Raise Conflict if another writer has
        advanced in its partitions; nothing is written. Raise Cancelled if waiting was ended; the outcome of the last try is unknown."""
        pause_s, tries = 0.1, 0
        while True:
            try:
                if tries and batch.already_written(self.positions()):
                    return
                with self.conn.transaction():
                    batch.write(self.conn, self._reader())
                return
            except AWAY as problem:
                tries += 1
                self._measures.retries += 1
                log.warning("retrying the transaction: %s%s", first_line(problem), _what_helps(problem))
                self.close()
                if self._stop.wait(pause_s):
                    raise Cancelled("stopped while the database did not answer") from None
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _what_helps(problem: Exception) -> str:
    if isinstance(problem, psycopg.errors.OutOfMemory):
        return "; records of many different days lock many chunks: raise the server's max_locks_per_transaction"
    return ""


def first_line(problem: Exception) -> str:
    """Return the first line of an error message."""
    return next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
