"""The transaction that is written while records of the next one are collected."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

from flitwatch_domain.heartbeat import WAIT_S, Heartbeat
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.database import Database
from flitwatch_ingest.writer.measures import Measures


class CommitPipeline:
    """Pipeline with at most one batch in flight, on its own connection and thread.

    Parameters
    ----------
    database : Database
        Used by no other thread.
    heartbeat : Heartbeat
        Heartbeat of the waiting loop: waiting for the database does not count as a hang.
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
        """Begin to write a batch; the previous one must be finished."""
        assert self._under_way is None
        self._under_way = batch, self._thread.submit(self._write_batch, batch)

    def wait(self) -> tuple[Batch, float] | None:
        """Wait for the batch in flight; return it and its commit time (`time.time()`). Raise Conflict or Cancelled; see `Database.write`."""
        in_flight, self._under_way = self._under_way, None
        if in_flight is None:
            return None
        self._await_write(in_flight[1])
        return in_flight[0], in_flight[1].result()

    def abandon(self) -> None:
        """Wait for the batch in flight, ignore its outcome, and close the connection."""
        in_flight, self._under_way = self._under_way, None
        if in_flight is not None:
            self._await_write(in_flight[1])
        self._database.close()

    def _await_write(self, written: Future[float]) -> None:
        while wait([written], WAIT_S).not_done:
            self._heartbeat.beat()

    def close(self) -> None:
        """Do the same and stop the thread."""
        self.abandon()
        self._thread.shutdown()

    def _write_batch(self, batch: Batch) -> float:
        with self._measures.stage("write"):
            self._database.write(batch)
        return time.time()
