"""Topics that are divided and made whole while writers come, go, are killed and lose connections at any step: every record counts once."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

import psycopg
import pytest
from ingest.writing import Quarters, append, quality, stored, uneven_seconds

from flitwatch_core.codec import Slicer
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import slices
from flitwatch_db.ingest import store as ingest
from flitwatch_domain.errors import Conflict
from flitwatch_domain.generators import dragonfly
from flitwatch_ingest.writer import WriterSettings, assigned_topics, clock, database, merging
from flitwatch_ingest.writer.batch import Batch
from flitwatch_ingest.writer.database import AWAY
from flitwatch_ingest.writer.drain import drain
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream import table_consumer
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Log

pytestmark = pytest.mark.integration

PARTITIONS = 4
STEPS = int(os.environ.get("FLITWATCH_SLICE_STEPS", "120"))
#: Worlds to draw, most of whose time is waiting: half a minute each, or more.
SEEDS = (
    range(int(asked))
    if (asked := os.environ.get("FLITWATCH_SLICE_SEEDS"))
    else [0, *(pytest.param(seed, marks=pytest.mark.system("numeric")) for seed in (1, 2, 3))]
)
#: Guards against a hang; a loaded machine takes as long as it takes.
SETTLE_S = 900.0


@pytest.fixture
def feed(embedded_db: str, topic: str) -> Quarters:
    fabric = dragonfly(1, 2, 8, name="states")
    with connect(embedded_db) as conn:
        fabrics.save(conn, fabric)
    return Quarters(fabric, range(16), topic=f"ldms.{topic}")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers look for one another with every step."""
    monkeypatch.setattr(assigned_topics, "LOOK_S", 0.0)
    monkeypatch.setattr(table_consumer, "REBALANCE_S", 0.05)
    # Minutes of samples come within a second here: which partitions hold more is asked with every record.
    monkeypatch.setattr(merging, "ASK_S", 0.0)


def _step(writer: Writer) -> int:
    """One step of `Writer.run`, with what it does where a connection is lost or another was quicker."""
    try:
        return writer.step()
    except (Conflict, *AWAY):
        writer._start_over()
        return 1


def _share_out(writers: list[Writer], topic: str) -> None:
    """Step until every slice of the topic has one of these writers."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        for writer in writers:
            _step(writer)
        shares = [writer.assigned.share(topic) for writer in writers if topic in writer.assigned.mine]
        if len(shares) == len(writers) and sum(len(share.slices) for share in shares) == slices.SLICES:
            return
    raise AssertionError([writer.assigned.share(topic) for writer in writers])


def _carry(writers: list[Writer]) -> None:
    """Step until these writers have read all that is theirs, and write it."""
    deadline = time.monotonic() + SETTLE_S
    while sum(_step(writer) for writer in writers) or not all(writer.assigned.caught_up() for writer in writers):
        assert time.monotonic() < deadline
    for writer in writers:
        writer.commit()
        writer.commit()


def _assert_exact(url: str, feed: Quarters, settings: WriterSettings) -> None:
    drain(url, url, settings=settings, limit_s=SETTLE_S)
    assert stored(url) == feed.expected(), uneven_seconds(url)
    assert quality(url) == ([], [])


def _half_way(writer: Writer) -> bool:
    """Whether slices are being rebuilt, and half of what they are rebuilt from is read."""
    marks = [mark for mark in writer._memory.marks.values() if mark.replaying and mark.committed is not None]
    return bool(marks) and all(
        2 * mark.position >= mark.committed.replay_from + mark.replay_until for mark in marks if mark.committed
    )


def test_slices_whose_port_buckets_are_rebuilt_by_half_are_left_to_the_next_writer(
    embedded_db: str, feed: Quarters, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that is far ahead takes slices that are behind, and is killed while it rebuilds their buckets, which it has closed for its own."""
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic, most_records=20)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, PARTITIONS)
        first, second = (Writer(embedded_db, log, settings) for _ in range(2))
        append(log, feed.topic, feed.ticks(6), range(PARTITIONS))
        _share_out([first, second], feed.topic)
        append(log, feed.topic, feed.ticks(8), range(PARTITIONS))
        _carry([first, second])
        second.close()
        monkeypatch.setattr(assigned_topics, "LOOK_S", 1e9)
        append(log, feed.topic, feed.ticks(40), range(PARTITIONS))
        _carry([first])
        monkeypatch.setattr(assigned_topics, "LOOK_S", 0.0)
        deadline = time.monotonic() + SETTLE_S
        while not _half_way(first) and time.monotonic() < deadline:
            first.step()
        assert _half_way(first)
        first.commit()
        first._land()
        first.close()
    _assert_exact(embedded_db, feed, settings)


def test_what_is_taken_is_read_from_where_it_was_left_though_the_database_fails_in_between(
    embedded_db: str, feed: Quarters, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer locks the slices of a killed one and loses its connection before it opens the reader for them."""
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, PARTITIONS)
        first, second = (Writer(embedded_db, log, settings) for _ in range(2))
        # Nothing of the topic is written yet, so no slice has a position that the database could hold against it.
        _share_out([first, second], feed.topic)
        append(log, feed.topic, feed.ticks(3), range(PARTITIONS))
        _carry([first])
        second.close()
        with monkeypatch.context() as broken:
            broken.setattr(first.assigned, "_read", _fail)
            deadline = time.monotonic() + SETTLE_S
            while len(first.assigned._shares[feed.topic].slices) < slices.SLICES and time.monotonic() < deadline:
                first.step()
        monkeypatch.setattr(assigned_topics, "LOOK_S", 1e9)
        append(log, feed.topic, feed.ticks(3), range(PARTITIONS))
        deadline = time.monotonic() + 2.0
        while time.monotonic() < deadline:
            _step(first)
        first.commit()
        first.close()
    _assert_exact(embedded_db, feed, settings)


def _fail() -> None:
    raise psycopg.OperationalError("the connection is lost")


def test_a_topic_is_divided_and_made_whole_after_a_killed_writers_last_transaction(embedded_db: str) -> None:
    """Its locks are gone at once, but what it sent to the database may still be under way: positions are read after it."""
    reader = ingest.Reader("writer", "table:1")
    old, new = ("ldms.a", 0), ("ldms.a", 1)
    with connect(embedded_db, role="writer", autocommit=True) as conn, connect(embedded_db, role="writer") as killed:
        ingest.advance(conn, reader, {old: ingest.Position(10, 4)}, {})
        for change, standing in ((slices.divide, 12), (slices.unite, 14)):
            ends = {old: ingest.Position(standing, 4), new: ingest.Position(standing, 4)}
            if change is slices.divide:
                ingest.advance(killed, reader, ends, {old: 10})
            else:
                for place in ends:
                    parts = {slices.Slot(*place, part): ends[place] for part in range(slices.SLICES)}
                    slices.advance(killed, reader, parts, dict.fromkeys(parts, 12), None)
            conn.execute("SET lock_timeout = '200ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                change(conn, reader, "ldms.a")
            killed.commit()
            change(conn, reader, "ldms.a")
            assert ingest.standing(conn, reader) == {old: standing, new: standing}


@pytest.mark.parametrize("change", ["divide", "unite"])
def test_writing_goes_on_where_only_the_database_knows_that_a_topic_was_divided_or_made_whole(
    embedded_db: str, feed: Quarters, quick: None, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, PARTITIONS)
        writers = [Writer(embedded_db, log, settings) for _ in range(2)]
        append(log, feed.topic, feed.ticks(4), range(PARTITIONS))
        _carry(writers[:1])
        divisions = writers[0].assigned._divisions
        does = getattr(divisions, change)
        lost = []

        def lose(topic: str, *total: int) -> int:
            done = does(topic, *total)
            if done and not lost:
                lost.append(topic)
                _fail()
            return int(done)

        monkeypatch.setattr(divisions, change, lose)
        _share_out(writers, feed.topic)
        writers[1].finish()
        deadline = time.monotonic() + SETTLE_S
        while not lost and time.monotonic() < deadline:
            _step(writers[0])
        append(log, feed.topic, feed.ticks(4), range(PARTITIONS))
        _carry(writers[:1])
        assert writers[0].assigned.share(feed.topic).whole
        writers[0].finish()
        assert lost
    _assert_exact(embedded_db, feed, settings)


def test_a_writer_that_stands_still_in_its_transaction_holds_the_others_up_for_a_while_only(
    embedded_db: str, feed: Quarters, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All writers count in the same rows of minutes: the server ends the transaction of one that stopped, which writes it again when it goes on."""
    monkeypatch.setattr(database, "STILL_S", 0.5)
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    writes, goes_on, stands = Batch.write, threading.Event(), threading.Event()

    def stand_still(batch: Batch, conn: psycopg.Connection, reader: ingest.Reader) -> None:
        writes(batch, conn, reader)
        if conn is first._pipeline._database._conn:
            stands.set()
            goes_on.wait(SETTLE_S)

    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, PARTITIONS)
        first, second = (Writer(embedded_db, log, settings) for _ in range(2))
        append(log, feed.topic, feed.ticks(6), range(PARTITIONS))
        _share_out([first, second], feed.topic)
        _carry([first, second])
        append(log, feed.topic, feed.ticks(3), range(PARTITIONS))
        monkeypatch.setattr(Batch, "write", stand_still)
        deadline = time.monotonic() + SETTLE_S
        while not stands.is_set() and time.monotonic() < deadline:
            _step(first)
        written = second.measures.commits
        while second.measures.commits < written + 2 and time.monotonic() < deadline:
            _step(second)
            second.commit()
        assert second.measures.commits >= written + 2
        goes_on.set()
        _carry([first, second])
        assert first.measures.retries == 1
        for writer in (first, second):
            writer.finish()
    _assert_exact(embedded_db, feed, settings)


class _Clock:
    """The writers' own clock, which stands still unless it is told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def own_clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    """What has passed since a topic was heard: nothing, on however busy a machine."""
    found = _Clock()
    monkeypatch.setattr(clock, "time", found)
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
    fabric = dragonfly(1, 2, 8, name="states")
    with connect(embedded_db) as conn:
        fabrics.save(conn, fabric)
    return {router: Quarters(fabric, [router], seed=router, topic=f"ldms.{topic}") for router in range(15)}


def _seconds(feeds: Iterable[Quarters], count: int) -> Iterator[bytes]:
    """So many seconds of all these feeds."""
    found = list(feeds)
    for _ in range(count):
        for one in found:
            yield from one.tick()


def _routers_of(writer: Writer, feeds: Mapping[int, Quarters]) -> list[int]:
    """Whose records are in the writer's slices."""
    topic = next(iter(feeds.values())).topic
    share, slicer = writer.assigned.share(topic), Slicer()
    names = [b'{"timestamp":1.0,"component_id":%d}' % feed.component[router, 0] for router, feed in feeds.items()]
    found = slicer.slices(names, slices.SLICES).tolist()
    return [router for router, part in zip(feeds, found, strict=True) if part in share.slices]


def _take_all(writer: Writer, topic: str) -> None:
    """Step until the writer has every slice, and carry what they hold."""
    deadline = time.monotonic() + SETTLE_S
    while len(writer.assigned.share(topic).slices) < slices.SLICES and not writer.assigned.share(topic).whole:
        assert time.monotonic() < deadline
        _step(writer)
    _carry([writer])
    _look(writer)


def _look(*writers: Writer) -> None:
    """Let writers that have read all look for devices that stopped, and write what they find."""
    for writer in writers:
        writer._look_around()
        writer.commit()
        writer._land()


def _trim(url: str, topic: str, partition: int) -> None:
    """Drop all that the log has of a partition."""
    with connect(url, autocommit=True) as conn:
        place = [topic, partition]
        conn.execute(
            "DELETE FROM log.batch b USING log.topic t WHERE t.topic_id = b.topic_id AND name = %s AND partition = %s",
            place,
        )
        conn.execute(
            "UPDATE log.partition p SET first_offset = next_offset FROM log.topic t WHERE t.topic_id = p.topic_id AND name = %s AND partition = %s",
            place,
        )


def _silences(noted: Iterable[ingest.Gap]) -> set[tuple[str, int, int]]:
    """Devices, and from and to which second."""
    return {(gap.device, int(gap.from_ts.timestamp()), int(gap.to_ts.timestamp())) for gap in noted}


def _devices(feed: Quarters) -> set[str]:
    return {f"nid{component:05d}" for component in feed.component.values()}


def test_a_device_that_stops_as_its_writer_dies_is_silent_from_then_on_and_no_other_is(
    embedded_db: str,
    routers: dict[int, Quarters],
    quick: None,
    noted: list[ingest.Gap],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The writer that takes its slices is forty seconds ahead with its own; one device of those stops, too."""
    feed_topic = routers[0].topic
    settings = WriterSettings(
        pattern=f"^{feed_topic}$", group=feed_topic, most_records=200, interval_s=0.0, silence_every_s=0.0
    )
    with open_log(embedded_db) as log:
        log.create_topic(feed_topic, PARTITIONS)
        first, second = (Writer(embedded_db, log, settings) for _ in range(2))
        append(log, feed_topic, _seconds(routers.values(), 6), range(PARTITIONS), timed=True)
        _share_out([first, second], feed_topic)
        append(log, feed_topic, _seconds(routers.values(), 8), range(PARTITIONS), timed=True)
        _carry([first, second])
        stopped = {_routers_of(writer, routers)[0] for writer in (first, second)}
        second.close()
        with monkeypatch.context() as apart:
            apart.setattr(assigned_topics, "LOOK_S", 1e9)
            going = [feed for router, feed in routers.items() if router not in stopped]
            append(log, feed_topic, _seconds(going, 40), range(PARTITIONS), timed=True)
            _carry([first])
        _take_all(first, feed_topic)
        first.finish()
    last_s = max(feed.second for feed in routers.values()) - 1
    silent = {(name, routers[router].second - 1, last_s) for router in stopped for name in _devices(routers[router])}
    assert len(stopped) == 2 and _silences(noted) == silent
    drain(embedded_db, embedded_db, settings=settings, limit_s=SETTLE_S)
    assert stored(embedded_db) == {router: feed.expected()[router] for router, feed in routers.items()}
    assert _silences(noted) == silent and len(quality(embedded_db)[0]) == len(silent)


def test_no_device_is_silent_whose_records_were_passed_and_are_to_be_read_again(
    embedded_db: str,
    routers: dict[int, Quarters],
    quick: None,
    noted: list[ingest.Gap],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """New records of taken slices are passed while memory is rebuilt, to the end of the log where what rebuilds it is no longer there."""
    feed_topic = routers[0].topic
    settings = WriterSettings(
        pattern=f"^{feed_topic}$", group=feed_topic, most_records=200, interval_s=0.0, silence_every_s=0.0
    )
    with open_log(embedded_db) as log:
        log.create_topic(feed_topic, PARTITIONS)
        first, second = (Writer(embedded_db, log, settings) for _ in range(2))
        append(log, feed_topic, _seconds(routers.values(), 6), range(PARTITIONS), timed=True)
        _share_out([first, second], feed_topic)
        append(log, feed_topic, _seconds(routers.values(), 8), range(PARTITIONS), timed=True)
        _carry([first, second])
        # The time of a feed is that of most devices.
        most, fewest = sorted((first, second), key=lambda writer: -len(_routers_of(writer, routers)))
        fewest.close()
        _trim(embedded_db, feed_topic, 1)
        with monkeypatch.context() as apart:
            apart.setattr(assigned_topics, "LOOK_S", 1e9)
            append(log, feed_topic, _seconds(routers.values(), 40), [0], timed=True)
            _carry([most])
        _take_all(most, feed_topic)
        assert noted == []
        most.finish()


def test_no_device_is_silent_of_a_topic_that_waits_for_the_registry(
    embedded_db: str, routers: dict[int, Quarters], quick: None, own_clock: _Clock, noted: list[ingest.Gap], topic: str
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
        _carry([writer])
        writer.assigned.block(waiting[0].topic)
        for feeds in (waiting, heard):
            append(log, next(iter(feeds.values())).topic, _seconds(feeds.values(), 30), range(PARTITIONS), timed=True)
        own_clock.now_s += 30.0
        _carry([writer])
        _look(writer)
        assert writer.measures.records == 4 * (12 + 12) + 4 * 60 and noted == []
        writer.close()


def test_devices_that_stop_while_nobody_reads_are_silent_for_the_next_writer(
    embedded_db: str, routers: dict[int, Quarters], quick: None, own_clock: _Clock, noted: list[ingest.Gap]
) -> None:
    """All that it reads is in the database already and only rebuilds its memory."""
    feed_topic = routers[0].topic
    settings = WriterSettings(pattern=f"^{feed_topic}$", group=feed_topic, silence_every_s=0.0)
    with open_log(embedded_db) as log:
        log.create_topic(feed_topic, PARTITIONS)
        append(log, feed_topic, _seconds(routers.values(), 6), range(PARTITIONS), timed=True)
        for silent_s in (0.0, 30.0):
            writer = Writer(embedded_db, log, settings)
            _carry([writer])
            own_clock.now_s += silent_s
            _look(writer)
            writer.close()
    last_s = routers[0].second - 1
    # What is no pause yet is not counted.
    assert _silences(noted) == {(n, last_s, last_s + 28) for feed in routers.values() for n in _devices(feed)}


def test_devices_of_a_writer_that_all_stop_are_silent_though_those_of_another_go_on(
    embedded_db: str, routers: dict[int, Quarters], quick: None, own_clock: _Clock, noted: list[ingest.Gap]
) -> None:
    """The records of a topic are no sign of life of devices that another writer has."""
    feed_topic = routers[0].topic
    settings = WriterSettings(pattern=f"^{feed_topic}$", group=feed_topic, interval_s=0.0, silence_every_s=0.0)
    with open_log(embedded_db) as log:
        log.create_topic(feed_topic, PARTITIONS)
        writers = [Writer(embedded_db, log, settings) for _ in range(2)]
        append(log, feed_topic, _seconds(routers.values(), 6), range(PARTITIONS), timed=True)
        _share_out(writers, feed_topic)
        append(log, feed_topic, _seconds(routers.values(), 8), range(PARTITIONS), timed=True)
        _carry(writers)
        own, others = (_routers_of(writer, routers) for writer in writers)
        for _ in range(20):
            own_clock.now_s += 1.0
            append(log, feed_topic, _seconds([routers[router] for router in others], 1), range(PARTITIONS), timed=True)
            _carry(writers)
            _look(*writers)
        assert {gap.device for gap in noted} == {name for router in own for name in _devices(routers[router])}
        assert {int(gap.from_ts.timestamp()) for gap in noted} == {routers[own[0]].second - 1}
        for writer in writers:
            writer.close()


class _Forgetful:
    """Divides topics and makes them whole, and loses the answer now and then."""

    def __init__(self, divisions: assigned_topics.Divisions, rng: random.Random) -> None:
        self._divisions, self._rng = divisions, rng

    def read(self) -> dict[str, int]:
        return dict(self._divisions.read())

    def divide(self, topic: str) -> int:
        self._lose()
        count = self._divisions.divide(topic)
        self._lose()
        return count

    def unite(self, topic: str, total: int) -> bool:
        self._lose()
        united = self._divisions.unite(topic, total)
        self._lose()
        return united

    def _lose(self) -> None:
        if self._rng.random() < 0.2:
            _fail()


class _World:
    """Up to three writers of one topic, and what may happen to them."""

    def __init__(self, url: str, log: Log, feed: Quarters, rng: random.Random) -> None:
        self.url, self.log, self.feed, self.rng = url, log, feed, rng
        self.writers: list[Writer] = []

    def settings(self) -> WriterSettings:
        most = self.rng.choice([7, 40, 5_000])
        return WriterSettings(
            pattern=f"^{self.feed.topic}$",
            group=self.feed.topic,
            most_records=most,
            interval_s=self.rng.choice([0.0, 0.05, 1.0]),
            silence_every_s=0.0,
        )

    def start(self) -> None:
        if len(self.writers) < 3:
            writer = Writer(self.url, self.log, self.settings())
            writer.assigned._divisions = _Forgetful(writer.assigned._divisions, self.rng)
            self.writers.append(writer)

    def kill(self) -> None:
        if self.writers:
            self.writers.pop(self.rng.randrange(len(self.writers))).close()

    def end(self) -> None:
        if self.writers:
            with suppress(*AWAY):
                self.writers.pop(self.rng.randrange(len(self.writers))).finish()

    def append(self) -> None:
        append(self.log, self.feed.topic, self.feed.ticks(self.rng.choice([1, 3, 12])), self._partitions(), timed=True)

    def _partitions(self) -> list[int]:
        return self.rng.choices(range(PARTITIONS), k=5)

    def step(self) -> None:
        for _ in range(self.rng.choice([1, 2, 8])):
            if self.writers:
                _step(self.rng.choice(self.writers))

    def cut(self) -> None:
        """One connection of a writer is lost."""
        with connect(self.url, autocommit=True) as conn:
            pids = conn.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND application_name IN ('flitwatch writer', 'flitwatch shares') ORDER BY pid"
            ).fetchall()
            if pids:
                conn.execute("SELECT pg_terminate_backend(%s, 5000)", self.rng.choice(pids))


@contextmanager
def _world(url: str, feed: Quarters, seed: int) -> Iterator[_World]:
    with open_log(url) as log:
        log.create_topic(feed.topic, PARTITIONS)
        world = _World(url, log, feed, random.Random(seed))
        try:
            yield world
        finally:
            for writer in world.writers:
                writer.close()


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_to_writers_of_a_divided_topic_every_record_counts_once(
    embedded_db: str, feed: Quarters, quick: None, noted: list[ingest.Gap], seed: int
) -> None:
    """And no device is ever called silent: all go on, as far as any of them is read."""
    with _world(embedded_db, feed, seed) as world:
        chances = {world.step: 12, world.append: 4, world.start: 3, world.kill: 2, world.end: 1, world.cut: 2}
        world.start()
        for action in world.rng.choices(list(chances), list(chances.values()), k=STEPS):
            action()
    _assert_exact(embedded_db, feed, world.settings())
    assert noted == []
