"""How long the oldest record waits in the log that no writer has written: of all partitions, to the record."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from support.waiting import eventually

from api.conftest import Served, serving
from flitwatch_api.ingest.lag import LogEnds
from flitwatch_api.settings import Settings
from flitwatch_db import connect
from flitwatch_db.ingest import store as ingest
from flitwatch_stream.log import Log

HOUR_S = 3600.0
TOPIC = "ldms.planted"


@pytest.fixture
def site(embedded_db: str) -> Iterator[Served]:
    with serving(Settings(db=embedded_db, web=None)) as served:
        yield served


def append(url: str, log: Log, partition: int, records: int, age_s: float) -> None:
    """Plant a batch that was appended so long ago."""
    with log.producer() as producer:
        for _ in range(records):
            producer.append(TOPIC, b"{}", partition=partition)
        producer.flush()
    with connect(url) as conn:
        conn.execute(
            "UPDATE log.batch SET appended_at = now() - make_interval(secs => %s) WHERE appended_at > now() - interval '1 minute'",
            [age_s],
        )


def move(url: str, log: Log, partition: int, position: int, before: int | None) -> None:
    """Write up to there, as a writer does."""
    place = TOPIC, partition
    with connect(url, role="writer") as conn:
        reader = ingest.Reader("writer", log.identity())
        ingest.advance_positions(conn, reader, {place: ingest.Position(position, position)}, {place: before})


def shown(site: Served) -> tuple[int, float]:
    """Records that wait, and for how many hours the oldest does."""
    (topic,) = (topic for topic in site.get("/ingest/status")["topics"] if topic["topic"] == TOPIC)
    return topic["lag_records"], round(topic["lag_s"] / HOUR_S, 1)


def test_the_oldest_unwritten_record_is_that_of_any_partition(site: Served, embedded_db: str, table_log: Log) -> None:
    for partition, records, hours in ((0, 1, 9), (0, 3, 5), (0, 1, 2), (1, 2, 1)):
        append(embedded_db, table_log, partition, records, hours * HOUR_S)
    move(embedded_db, table_log, 0, 1, None)
    assert shown(site) == (6, 5.0)
    # In the middle of a batch.
    move(embedded_db, table_log, 0, 2, 1)
    assert shown(site) == (5, 5.0)
    move(embedded_db, table_log, 0, 4, 2)
    assert shown(site) == (3, 2.0)
    # That a writer wrote just now says nothing of a partition which none has read.
    move(embedded_db, table_log, 0, 5, 4)
    assert shown(site) == (2, 1.0)
    figure = f'flitwatch_ingest_unwritten_seconds{{topic="{TOPIC}"}} 36'
    assert figure in site.http.get("/metrics").text
    move(embedded_db, table_log, 1, 2, None)
    assert shown(site) == (0, 0.0)


def test_what_was_trimmed_waits_no_longer(site: Served, embedded_db: str, table_log: Log) -> None:
    append(embedded_db, table_log, 0, 2, 5 * HOUR_S)
    append(embedded_db, table_log, 0, 2, HOUR_S)
    move(embedded_db, table_log, 0, 1, None)
    with connect(embedded_db) as conn:
        conn.execute("DELETE FROM log.batch WHERE base_offset = 0")
    assert shown(site) == (3, 1.0)


@pytest.mark.system("stores")
async def test_kafka_says_the_same(kafka_log: Log, topic: str) -> None:
    now_ms = time.time_ns() // 1_000_000
    with kafka_log.producer() as producer:
        for partition, hours in ((0, 9), (0, 5), (1, 1), (1, 2)):
            stamp_ms = now_ms - int(hours * HOUR_S * 1000)
            producer.append(topic, b"x" * 100_000, partition=partition, timestamp_ms=stamp_ms)

    async def oldest_h(places: dict[str, int]) -> tuple[int, float | None]:
        offset, oldest_at = (await LogEnds(kafka_log.url).get({topic: places}))[topic]
        return offset, None if oldest_at is None else round(now_ms / 3_600_000 - oldest_at.timestamp() / 3600, 1)

    eventually(lambda: kafka_log.end_offsets(topic)[:2] == [2, 2], what="the records")
    assert await oldest_h({"0": 1}) == (4, 5.0)
    assert await oldest_h({"0": 2, "1": 0}) == (4, 1.0)
    assert await oldest_h({"0": 2, "1": 2}) == (4, None)
