"""A writer that stands still in the middle of a transaction: its rows are free again after a while, and it writes the batch again when it goes on."""

from __future__ import annotations

import threading

import psycopg
import pytest
from ingest.writing import Quarters, append, quality, stored, uneven_seconds
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest.store import Reader
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings, database
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream.backends import open_log

#: Guards against a hang; a loaded machine takes as long as it takes.
LIMIT_S = 120.0


@pytest.mark.integration
def test_a_writer_that_stands_still_in_its_transaction_holds_others_up_for_a_while_only(
    embedded_db: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STILL_S", 2.0)
    fabric = build_dragonfly(1, 2, 4, name="still")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    writes, stands, goes_on = Batch.write, threading.Event(), threading.Event()
    free: list[int] = []

    def stand_still(batch: Batch, conn: psycopg.Connection, reader: Reader) -> None:
        writes(batch, conn, reader)
        if not stands.is_set():
            with connect(embedded_db) as other:
                free.append(len(other.execute("SELECT FROM router_1h FOR UPDATE SKIP LOCKED").fetchall()))
            stands.set()
            goes_on.wait(LIMIT_S)

    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        stop = threading.Event()
        writer = Writer(embedded_db, log, settings, stop)

        def carry(seconds: int) -> None:
            append(log, feed.topic, feed.ticks(seconds), (0, 1))
            wanted = writer.measures.records + seconds * 8 * 4

            def carried() -> bool:
                writer.step()
                writer.commit()
                return writer.measures.records >= wanted

            eventually(carried, LIMIT_S, 0.0, f"{wanted} records")

        try:
            carry(6)
            monkeypatch.setattr(Batch, "write", stand_still)
            append(log, feed.topic, feed.ticks(3), (0, 1))

            def stands_still() -> bool:
                writer.step()
                return stands.is_set()

            eventually(stands_still, LIMIT_S, 0.0, "the writer to stand still")
            with connect(embedded_db) as other:
                other.execute(f"SET lock_timeout = '{LIMIT_S / 2}s'".encode())
                assert len(other.execute("SELECT FROM router_1h FOR UPDATE").fetchall()) == 8
            assert free == [0]
            goes_on.set()
            carry(3)
            assert writer.measures.retries == 1
        finally:
            stop.set()
            goes_on.set()
            writer.finish()
    drain_log(embedded_db, embedded_db, settings=settings, limit_s=LIMIT_S)
    assert stored(embedded_db) == feed.expected(), uneven_seconds(embedded_db)
    assert quality(embedded_db) == ([], [])
