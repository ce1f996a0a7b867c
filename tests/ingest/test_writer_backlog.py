"""A backlog whose nodes are spread over all partitions of a topic, as LDMS spreads them."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest.writing import Quarters, quality, stored

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.errors import Unavailable
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_ingest.writer.merging import Merger
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Record, TopicPartition

PARTITIONS = 4
SECONDS = 120


@pytest.fixture(params=["table", pytest.param("kafka", marks=pytest.mark.system("stores"))])
def log_url(request: pytest.FixtureRequest, embedded_db: str) -> str:
    return embedded_db if request.param == "table" else request.getfixturevalue("kafka")


@pytest.mark.integration
def test_two_minutes_of_backlog_over_all_partitions_count_exactly(embedded_db: str, log_url: str, topic: str) -> None:
    rng = random.Random(1)
    fabric = build_dragonfly(1, 2, 4, name="backlog")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    begin_ms = int(time.time() * 1000) - SECONDS * 1000
    with open_log(log_url) as log:
        log.create_topic(feed.topic, PARTITIONS)
        with log.producer() as producer:
            for second in range(SECONDS):
                for record in feed.tick():
                    at_ms = begin_ms + second * 1000 + rng.randrange(200)
                    producer.append(feed.topic, record, partition=rng.randrange(PARTITIONS), timestamp_ms=at_ms)
            producer.flush()
    drain_log(embedded_db, log_url, settings=WriterSettings(pattern=f"^ldms.{topic}$"), limit_s=60)
    assert quality(embedded_db) == ([], [])
    assert stored(embedded_db) == feed.expected()


@given(
    times=st.lists(st.lists(st.integers(0, 50), max_size=12), min_size=1, max_size=4),
    chunks=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=30),
)
def test_every_record_is_handed_on_once_and_in_the_order_of_time(
    times: list[list[int]], chunks: list[tuple[int, int]]
) -> None:
    logs = [
        [Record("t", p, i, ms, None, b"", ()) for i, ms in enumerate(sorted(found))] for p, found in enumerate(times)
    ]
    read = [0] * len(logs)
    asked: list[set[TopicPartition]] = []

    def unread() -> set[TopicPartition]:
        asked.append({TopicPartition("t", p) for p, found in enumerate(logs) if read[p] < len(found)})
        return asked[-1]

    merger = Merger(unread)
    merger._asked_at = -1e9
    out: list[Record] = []
    for partition, count in [*chunks, *((p, 12) for p in range(4))]:
        if partition < len(logs):
            part = logs[partition][read[partition] : read[partition] + count]
            read[partition] += len(part)
            merger._asked_at = -1e9
            out += merger.merge(part)
    merger._asked_at = -1e9
    out += merger.merge([])
    assert merger.empty
    assert [r.timestamp_ms for r in out] == sorted(r.timestamp_ms for found in logs for r in found)
    for partition, found in enumerate(logs):
        assert [r for r in out if r.partition == partition] == found


def test_a_backlog_is_merged_by_a_writer_whose_clock_is_half_an_hour_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("flitwatch_ingest.writer.merging.time.monotonic", lambda: now[0])
    merger = Merger(lambda: {TopicPartition("t", 0), TopicPartition("t", 1)})
    ahead_ms = int(time.time() * 1000) + 1_800_000

    def record(partition: int, second: int) -> Record:
        return Record("t", partition, second, ahead_ms + 1000 * second, None, b"", ())

    first = [record(0, second) for second in range(30)]
    assert merger.merge(first) == []
    now[0] += 20
    second = [record(1, second) for second in range(30)]
    assert [r.timestamp_ms for r in merger.merge(second)] == sorted(r.timestamp_ms for r in first + second)


def test_a_producer_whose_clock_is_ahead_does_not_hold_its_partition_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("flitwatch_ingest.writer.merging.time.monotonic", lambda: now[0])
    merger = Merger(lambda: {TopicPartition("t", 0), TopicPartition("t", 1)})
    ahead = Record("t", 0, 0, 2**41, None, b"", ())
    old = Record("t", 1, 0, 5, None, b"", ())
    assert merger.merge([ahead, old]) == [old]
    now[0] += 6
    assert merger.merge([]) == [ahead]


def test_a_partition_far_ahead_is_not_read_until_the_others_have_come_as_far() -> None:
    more = {TopicPartition("t", 0), TopicPartition("t", 1)}
    merger = Merger(lambda: more)

    def record(partition: int, offset: int) -> Record:
        return Record("t", partition, offset, 1000 + offset, None, bytes(1 << 20), ())

    assert merger.merge([record(0, i) for i in range(20)]) == []
    assert merger.ahead() == {TopicPartition("t", 0)}
    assert len(merger.merge([record(1, i) for i in range(10)])) == 20
    assert merger.ahead() == {TopicPartition("t", 0)}, "it waits until most of it was handed on"
    assert len(merger.merge([record(1, i) for i in range(10, 20)])) == 20
    assert merger.ahead() == set() and merger.empty


def test_records_that_are_fresh_do_not_wait() -> None:
    def never() -> set[TopicPartition]:
        raise AssertionError("asked for nothing")

    merger = Merger(never)
    fresh = [Record("t", p, 0, int(time.time() * 1000), None, b"", ()) for p in range(3)]
    assert merger.merge(fresh) == fresh


def test_what_was_read_is_handed_on_where_the_log_does_not_say_how_much_more_there_is() -> None:
    def unread() -> set[TopicPartition]:
        raise Unavailable("the broker does not answer")

    merger, now_ms = Merger(unread), int(time.time() * 1000)
    live = [Record("live", 0, offset, now_ms, None, b"", ()) for offset in range(3)]
    old = [Record("old", 0, offset, now_ms - 60_000, None, b"", ()) for offset in range(3)]
    assert sorted(merger.merge([*live, *old])) == sorted([*live, *old])
    assert merger.empty
