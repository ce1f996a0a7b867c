"""A log's server killed under load: acknowledged records are stored once and in order, and no client hangs."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from support.waiting import eventually

from flitwatch_db.migrations import migrate_database
from flitwatch_domain.errors import MissingDependency, Unavailable
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.integration, pytest.mark.system("faults")]

PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
KILLS = 3
SOURCES = 5
TOPIC = "kills"


@pytest.fixture(params=["table", pytest.param("kafka", marks=pytest.mark.system("faults"))])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A server of this test's own, which it may kill: has `start`, `kill` and `url`."""
    folder = tempfile.mkdtemp(prefix="flitwatch-kill-", dir=PLACE)
    if request.param == "table":
        embedded = Embedded(folder, durable=False)
        migrate_database(embedded.start())
        yield embedded
        embedded.destroy()
        return
    from flitwatch_ops.stack.kafka import Kafka, fetch_jars, find_java

    try:
        find_java()
        fetch_jars()
    except MissingDependency as absent:
        pytest.skip(str(absent))
    broker = Kafka(folder, quick=True)
    broker.start()
    yield broker
    broker.destroy()


class Feed(threading.Thread):
    """Appends numbered records of several sources and counts what is acknowledged."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.stopping = threading.Event()
        self.appended = 0
        self.acknowledged = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with open_log(self.url) as log, log.producer() as producer:
                while not self.stopping.is_set():
                    for _ in range(40):
                        source = self.appended % SOURCES
                        producer.append(TOPIC, b"%d" % self.appended, key=b"source %d" % source)
                        self.appended += 1
                    self._flush(producer)
        except BaseException as failure:
            self.failure = failure

    def _flush(self, producer: Any) -> None:
        deadline = time.monotonic() + 120
        while True:
            try:
                producer.flush(1.0)
                self.acknowledged = self.appended
                return
            except Unavailable:
                if time.monotonic() > deadline:
                    raise


def test_killed_servers_lose_and_repeat_nothing(server: Any) -> None:
    chance = random.Random(7)
    feed = Feed(server.url)
    values: list[int] = []
    offsets: dict[int, list[int]] = defaultdict(list)
    refusals = 0

    def read(consumer: Any) -> None:
        nonlocal refusals
        began = time.monotonic()
        try:
            for record in consumer.poll(10_000, 0.2):
                values.append(int(record.value))
                offsets[record.partition].append(record.offset)
        except Unavailable:
            refusals += 1
        assert time.monotonic() - began < 30, "a poll outlasted its time limit"

    with open_log(server.url) as log:
        log.create_topic(TOPIC, 3)
        with log.consumer("reader", [TOPIC]) as consumer:
            feed.start()
            for _ in range(KILLS):
                until = time.monotonic() + chance.uniform(0.5, 2.0)
                while time.monotonic() < until:
                    read(consumer)
                server.kill()
                until = time.monotonic() + chance.uniform(0.2, 1.0)
                while time.monotonic() < until:
                    read(consumer)
                server.start()
            acknowledged = feed.acknowledged

            def goes_on() -> bool:
                read(consumer)
                return feed.acknowledged > acknowledged or feed.failure is not None

            eventually(goes_on, 90, 0.0, what="the feed to go on")
            feed.stopping.set()
            feed.join(150)
            assert feed.failure is None

            def all_read() -> bool:
                read(consumer)
                return len(values) >= feed.appended

            eventually(all_read, 90, 0.0, what=f"{feed.appended} records", detail=lambda: f"{len(values)} records came")
            read(consumer)
    assert feed.acknowledged == feed.appended > 0
    assert sorted(values) == list(range(feed.appended))
    for seen in offsets.values():
        assert seen == list(range(len(seen)))
    for source in range(SOURCES):
        ours = [value for value in values if value % SOURCES == source]
        assert ours == sorted(ours)


def test_a_server_that_is_away_is_asked_for_its_ends_and_no_record_is_lost(server: Any) -> None:
    """What was fetched before the kill lies with the consumer; a question in vain must not take of it."""
    with open_log(server.url) as log:
        log.create_topic(TOPIC, 1)
        with log.producer() as producer:
            for number in range(200):
                producer.append(TOPIC, b"%d" % number, partition=0)
            producer.flush()
        with log.consumer("reader", [TOPIC]) as consumer:
            values: list[int] = []

            def read(most: int, until: int) -> None:
                def enough() -> bool:
                    with suppress(Unavailable):
                        values.extend(int(record.value) for record in consumer.poll(most, 0.2))
                    return len(values) >= until

                eventually(enough, 90, 0.0, what=f"{until} records", detail=lambda: f"{len(values)} records came")

            read(1, 1)
            server.kill()
            for ask in (consumer.end_offsets, consumer.begin_offsets):
                with pytest.raises(Unavailable):
                    ask()
            server.start()
            read(1_000, 200)
    assert values == list(range(200))


def test_an_absent_server_is_reported_within_the_time_limit(server: Any) -> None:
    with open_log(server.url) as log, log.producer() as producer:
        producer.append(TOPIC, b"held")
        producer.flush(60)
        consumer = log.consumer("reader", [TOPIC])
        server.kill()
        producer.append(TOPIC, b"held")
        began = time.monotonic()
        with pytest.raises(Unavailable, match="does not answer"):
            producer.flush(1.0)
        with pytest.raises(Unavailable, match="does not answer"):
            for _ in range(30):
                consumer.poll(10, 0.5)
        assert time.monotonic() - began < 40
        server.start()
        producer.flush(60)
        found: list[bytes] = []

        def both() -> bool:
            found.extend(record.value for record in consumer.poll(10, 0.5))
            return len(found) >= 2

        eventually(both, every_s=0.0, what="both records", retry=(Unavailable,), detail=lambda: found)
        consumer.close()
    assert found == [b"held", b"held"]
