"""The transaction that is being written while records of the next one are gathered."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

from flitwatch_domain.heartbeat import WAIT_S, Heartbeat
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.database import Database
from flitwatch_ingest.writer.measures import Measures


class CommitPipeline:
    """At most one batch under way, on a connection and a thread of its own.

    Parameters
    ----------
    database : Database
        Used by no other thread.
    measures : Measures
    heartbeat : Heartbeat
        Of the loop that waits here: waiting for the database does not count as a hang.
    """

    def __init__(self, database: Database, measures: Measures, heartbeat: Heartbeat) -> None:
        self._database = database
        self._measures = measures
        self._heartbeat = heartbeat
        self._thread = ThreadPoolExecutor(1, "transaction")
        self._under_way: tuple[Batch, Future[float]] | None = None

    @property
    def busy(self) -> bool:
        """Return whether a batch is still being written."""
        return self._under_way is not None and not self._under_way[1].done()

    def send(self, batch: Batch) -> None:
        """Begin to write a batch; the one before has landed."""
        assert self._under_way is None
        self._under_way = batch, self._thread.submit(self._write_batch, batch)

    def wait(self) -> tuple[Batch, float] | None:
        """Wait for what is under way; return it, and when (`time.time()`) it was in.

        Raises
        ------
        Conflict, Cancelled
            As `Database.write`.
        """
        in_flight, self._under_way = self._under_way, None
        if in_flight is None:
            return None
        self._await_write(in_flight[1])
        return in_flight[0], in_flight[1].result()

    def abandon(self) -> None:
        """Wait for what is under way, regardless of the outcome, and let go of the database."""
        in_flight, self._under_way = self._under_way, None
        if in_flight is not None:
            self._await_write(in_flight[1])
        self._database.close()

    def _await_write(self, written: Future[float]) -> None:
        while wait([written], WAIT_S).not_done:
            self._heartbeat.beat()

    def close(self) -> None:
        """The same, for the last time."""
        self.abandon()
        self._thread.shutdown()

    def _write_batch(self, batch: Batch) -> float:
        with self._measures.stage("write"):
            self._database.write(batch)
        return time.time()
