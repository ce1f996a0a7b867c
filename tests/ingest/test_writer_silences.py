"""A writer that is stopped in the middle of a transaction: its rows are unlocked after a while, and it rewrites the batch when it continues."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

import psycopg
import pytest
from ingest.writing import Quarters, append, drain_log, quality, stored, uneven_seconds
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import store as ingest
from flitwatch_db.ingest.store import Reader
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings, database, memory, merging
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.pending_rows import OUR_FAULT, header_text
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Record
from ingest import odd

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


# Which devices a writer calls silent: those that stopped, and none whose records were not read yet.


PARTITIONS = 4

#: Guards against a hang; a loaded machine takes as long as it takes.
SETTLE_S = 300.0


class _Clock:
    """The writers' own clock, which moves only when the test sets it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def own_clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    """What has passed since a topic was heard: nothing, on however busy a machine."""
    found = _Clock()
    monkeypatch.setattr(memory, "time", found)
    # Minutes of samples come within a second here: which partitions hold more is asked with every record.
    monkeypatch.setattr(merging, "ASK_S", 0.0)
    return found


@pytest.fixture
def noted(own_clock: _Clock, monkeypatch: pytest.MonkeyPatch) -> list[ingest.Gap]:
    """Every gap that a writer stores, also what is taken away again."""
    found: list[ingest.Gap] = []
    add = ingest.add_gaps

    def keep(conn: psycopg.Connection, gaps: Iterable[ingest.Gap]) -> None:
        found.extend(gaps)
        add(conn, gaps)

    monkeypatch.setattr(ingest, "add_gaps", keep)
    return found


@pytest.fixture
def routers(embedded_db: str, topic: str) -> dict[int, Quarters]:
    """A feed of each router's own, on one topic: any of them may stop."""
    fabric = build_dragonfly(1, 2, 8, name="states")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    return {router: Quarters(fabric, [router], seed=router, topic=f"ldms.{topic}") for router in range(15)}


def _seconds(feeds: Iterable[Quarters], count: int) -> Iterator[bytes]:
    """So many seconds of all these feeds."""
    found = list(feeds)
    for _ in range(count):
        for one in found:
            yield from one.tick()


def _carry(writer: Writer) -> None:
    """Step until the writer has read all that is its own, and write it."""
    eventually(
        lambda: not writer.step() and writer.assigned.mine and writer.assigned.caught_up(),
        SETTLE_S,
        0.0,
        "the writer to read all that is its own",
    )
    writer.commit()
    writer.commit()


def _look(writer: Writer) -> None:
    """Let a writer that has read all look for devices that stopped, and write what it finds."""
    writer._look_around()
    writer.commit()
    writer._finish_commit()


@pytest.mark.integration
def test_no_device_is_silent_of_a_topic_that_waits_for_the_registry(
    embedded_db: str, routers: dict[int, Quarters], own_clock: _Clock, noted: list[ingest.Gap], topic: str
) -> None:
    """Another topic is read to its end meanwhile; what the log has of the one that waits was not read."""
    waiting, heard = (
        {r: replace(routers[r], topic=f"ldms.{topic}.{name}") for r in half}
        for name, half in (("a", (0, 1)), ("b", (2, 3)))
    )
    settings = WriterSettings(pattern=rf"^ldms\.{topic}\.", group=topic, interval_s=0.0, silence_every_s=0.0)
    with open_log(embedded_db) as log:
        for feeds in (waiting, heard):
            name = next(iter(feeds.values())).topic
            log.create_topic(name, PARTITIONS)
            append(log, name, _seconds(feeds.values(), 6), range(PARTITIONS), timed=True)
        writer = Writer(embedded_db, log, settings)
        _carry(writer)
        writer.assigned.block(waiting[0].topic)
        for feeds in (waiting, heard):
            append(log, next(iter(feeds.values())).topic, _seconds(feeds.values(), 30), range(PARTITIONS), timed=True)
        own_clock.now_s += 30.0
        _carry(writer)
        _look(writer)
        assert writer.measures.records == 4 * (12 + 12) + 4 * 60 and noted == []
        writer.close()


@pytest.mark.integration
def test_devices_that_stop_while_nobody_reads_are_silent_for_the_next_writer(
    embedded_db: str, routers: dict[int, Quarters], own_clock: _Clock, noted: list[ingest.Gap]
) -> None:
    """All that it reads is in the database already and only rebuilds its memory."""
    feed_topic = routers[0].topic
    settings = WriterSettings(pattern=f"^{feed_topic}$", group=feed_topic, silence_every_s=0.0)
    with open_log(embedded_db) as log:
        log.create_topic(feed_topic, PARTITIONS)
        append(log, feed_topic, _seconds(routers.values(), 6), range(PARTITIONS), timed=True)
        for silent_s in (0.0, 30.0):
            writer = Writer(embedded_db, log, settings)
            _carry(writer)
            own_clock.now_s += silent_s
            _look(writer)
            writer.close()
    last_s = routers[0].second - 1
    devices = {f"nid{component:05d}" for feed in routers.values() for component in feed.component.values()}
    found = {(gap.device, int(gap.from_ts.timestamp()), int(gap.to_ts.timestamp())) for gap in noted}
    # What is no pause yet is not counted.
    assert found == {(device, last_s, last_s + 28) for device in devices}


# Odd records through the real writer: it is still running; every record is stored or a dead letter.


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(4))
def test_odd_records_are_stored_or_dead_letters_and_stop_nothing(embedded_db: str, topic: str, seed: int) -> None:
    rng = random.Random(seed)
    sent = odd.records(rng, topic)
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, build_dragonfly(1, 2, 4, name="odd"))
    odd.publish(embedded_db, sent, rng)
    drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms\\..*{topic}$"), limit_s=120)
    with connect(embedded_db, autocommit=True) as conn:
        read = dict(conn.execute("SELECT topic, position FROM stream_position").fetchall())
        assert read == {name: len(found) for name, found in sent.items()}
        letters = conn.execute("SELECT topic, reason FROM dead_letter").fetchall()
        assert [reason for _, reason in letters if OUR_FAULT in reason or not reason or len(reason) > 500] == []
        assert conn.execute("SELECT count(*) FROM job WHERE job_id = '999999'").fetchone() == (1,)


@pytest.mark.integration
def test_a_header_without_a_value_names_nobody() -> None:
    record = Record("t", 0, 0, 0, None, b"", [("source", None), ("source", b"a\0b"), ("sequence", b"\xff")])  # type: ignore[list-item]
    assert (header_text(record, "source"), header_text(record, "sequence"), header_text(record, "where")) == (
        "a\ufffdb",
        "\ufffd",
        "",
    )


# Records of very many days at once: a long history that is read in one go, or a clock that jumps.


DAYS = 1_300


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_one_transaction_may_hold_more_days_than_a_server_has_locks_by_default(embedded_db: str, topic: str) -> None:
    name = f"ldms.aries_{topic}"
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, build_dragonfly(1, 2, 4, name="long"))
    row = {"component_id": 0, "aries_rtr_id": "c0-0c0s0a0"}
    counter = "AR_RTR_0_0_INQ_PRF_INCOMING_FLIT_VC0"
    records = [
        json.dumps({"timestamp": 8 * 86_400 * day + second} | row | {counter: 100 * day + second}).encode()
        for day in range(1, DAYS + 1)
        for second in (0, 1)
    ]
    with open_log(embedded_db) as log:
        log.create_topic(name, 1)
        append(log, name, records)
    drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms\\..*{topic}$"), limit_s=300)
    with connect(embedded_db, autocommit=True) as conn:
        assert conn.execute("SELECT count(*), sum(rt_flits) FROM router_1s").fetchone() == (DAYS, DAYS)
