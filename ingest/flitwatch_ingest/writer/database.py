"""The writer's connection, and transactions that are tried until they are in."""

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

#: Between tries to write: what comes after the database is back waits for the rest of one.
LONGEST_PAUSE_S = 1.0
#: What a connection raises when the server is away, refuses for now, or has cut it off.
AWAY = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.IdleInTransactionSessionTimeout,
    Unavailable,
)


class Database:
    """One connection as role writer, opened again when it breaks.

    Parameters
    ----------
    url : str
    reader : callable
        Gives the consumer group and the log, which is asked who it is once it answers.
    stop : threading.Event
        Ends waiting.
    measures : Measures
    """

    def __init__(self, url: str, reader: Callable[[], Reader], stop: threading.Event, measures: Measures) -> None:
        self._url = url
        self._reader = reader
        self._stop = stop
        self._measures = measures
        self._conn: psycopg.Connection[Any] | None = None

    @property
    def conn(self) -> psycopg.Connection[Any]:
        """The connection, in autocommit.

        Raises
        ------
        Unavailable
            The server does not answer.
        """
        if self._conn is None or self._conn.closed:
            # What a crash takes back it takes back whole, positions and rows together; it is read again from the log.
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
        """Load the group's positions in its log."""
        return ingest.load_positions(self.conn, self._reader())

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()

    def write(self, batch: Batch) -> None:
        """Write a batch in one transaction, as often as it takes to be sure that it is in exactly once.

        Raises
        ------
        Conflict
            Another writer has moved on in its partitions; nothing is written.
        Cancelled
            Waiting was ended; nothing is known of the last try.
        """
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
    """The first line of what went wrong."""
    return next((line.strip() for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
