"""Several writers on one topic: each takes the devices of its slices, and every record counts once, whoever comes, goes or is killed."""

from __future__ import annotations

import random
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable

import pytest
from ingest.test_writer_kills import Writers, written
from ingest.writing import START_S, Quarters, append, quality, stored, uneven_seconds

from flitwatch_core.codec import Slicer
from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest import slices
from flitwatch_db.ingest import store as ingest
from flitwatch_domain.errors import Conflict
from flitwatch_domain.generators import dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream.backends import open_log

PARTITIONS = 4
#: Guards against a hang; a loaded machine takes as long as it takes.
SETTLE_S = 900.0


@pytest.fixture(params=["table", pytest.param("kafka", marks=pytest.mark.system("stores"))])
def log_url(request: pytest.FixtureRequest, embedded_db: str) -> str:
    return embedded_db if request.param == "table" else request.getfixturevalue("kafka")


@pytest.fixture
def feed(embedded_db: str, topic: str) -> Quarters:
    fabric = dragonfly(1, 2, 16, name="slices")
    with connect(embedded_db) as conn:
        fabrics.save(conn, fabric)
    return Quarters(fabric, range(32), topic=f"ldms.{topic}")


def _share_out(writers: list[Writer], topic: str) -> None:
    """Step until every slice of the topic has one of these writers."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        for writer in writers:
            writer.step()
        shares = [writer.assigned.share(topic) for writer in writers if topic in writer.assigned.mine]
        if len(shares) == len(writers) and sum(len(share.slices) for share in shares) == slices.SLICES:
            return
    raise AssertionError([writer.assigned.share(topic) for writer in writers])


def _carry(writers: list[Writer], topic: str) -> None:
    """Step until these writers have read all of the topic, and write it."""
    while [writer.step() for writer in writers] != [0] * len(writers) or not all(
        writer.assigned.caught_up() for writer in writers
    ):
        pass
    for writer in writers:
        writer.commit()
        writer.commit()


def test_the_nodes_of_a_router_and_one_device_under_any_spelling_are_in_one_slice() -> None:
    slicer = Slicer()
    for router in range(200):
        records = [b'{"timestamp":1.5,"component_id": %d,"x":1}' % (4 * router + node) for node in range(4)]
        records += [b'{"x":[1,2],"component_id":%d}' % (4 * router)]
        assert len(set(slicer.slices(records, slices.SLICES).tolist())) == 1
    ports = [b'{"guid":"%d","port":%d}' % (device, port) for device in range(8) for port in range(3)]
    found = slicer.slices(ports, slices.SLICES).tolist()
    assert found[0::3] == found[1::3] == found[2::3] and len(set(found)) > 3
    # Nobody set the component: names tell nodes apart, but not those of an Aries, whose four nodes are one device.
    unset = [b'{"component_id":0,"producer":"n%d"}' % node for node in range(20)]
    aries = [b'{"component_id":0,"producer":"n%d","AR_RTR_0_0":1}' % node for node in range(4)]
    assert len(set(slicer.slices(unset, slices.SLICES).tolist())) > 5
    assert len(set(slicer.slices([*aries, b'{"component_id":3,"AR_RTR_0_0":1}'], slices.SLICES).tolist())) == 1


@pytest.mark.integration
def test_a_second_writer_takes_half_and_every_record_counts_once(
    embedded_db: str, log_url: str, feed: Quarters
) -> None:
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    with open_log(log_url) as log:
        log.create_topic(feed.topic, PARTITIONS)
        first, second = (Writer(embedded_db, log, settings) for _ in range(2))
        append(log, feed.topic, feed.ticks(6), range(PARTITIONS))
        while not (first.step() == 0 and first.assigned.mine and first.assigned.caught_up()):
            pass
        assert first.assigned.share(feed.topic).whole
        _share_out([first, second], feed.topic)
        assert {len(w.assigned.share(feed.topic).slices) for w in (first, second)} == {slices.SLICES // 2}
        append(log, feed.topic, feed.ticks(8), range(PARTITIONS))
        late = feed.tick()
        append(log, feed.topic, feed.ticks(3), range(PARTITIONS))
        append(log, feed.topic, late, (3, 1))
        before = first.measures.records
        _carry([first, second], feed.topic)
        first._land()
        second._land()
        assert first.measures.records > before and second.measures.records > 0
        # One ends as if it were killed; the other has everything, and the topic is whole again.
        second.close()
        append(log, feed.topic, feed.ticks(5), range(PARTITIONS))
        deadline = time.monotonic() + SETTLE_S
        while not first.assigned.share(feed.topic).whole and time.monotonic() < deadline:
            first.step()
        assert first.assigned.share(feed.topic).whole
        append(log, feed.topic, feed.ticks(4), range(PARTITIONS))
        _carry([first], feed.topic)
        first.finish()
        drain(embedded_db, log_url, settings=settings, limit_s=SETTLE_S)
    assert feed.second > START_S
    assert stored(embedded_db) == feed.expected(), uneven_seconds(embedded_db)
    assert quality(embedded_db) == ([], [])
    with connect(embedded_db) as conn:
        assert conn.execute("SELECT count(*) FROM slice_position").fetchone() == (0,)


@pytest.mark.integration
def test_a_source_that_moves_to_another_partition_is_neither_lost_nor_doubled(
    embedded_db: str, log_url: str, feed: Quarters
) -> None:
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    number = 0

    def send(log, partition: int, seconds: int, again: int = 0) -> None:
        """All devices by one collector; `again` of the records twice, as after its crash."""
        nonlocal number
        with log.producer() as producer:
            held = []
            for record in feed.ticks(seconds):
                number += 1
                held.append((record, [("source", b"host/file"), ("sequence", b"%d" % number)]))
            for record, headers in held + held[len(held) - again :]:
                producer.append(feed.topic, record, partition=partition, headers=headers)
            producer.flush()

    with open_log(log_url) as log:
        log.create_topic(feed.topic, PARTITIONS)
        writers = [Writer(embedded_db, log, settings) for _ in range(2)]
        send(log, 1, 4)
        _share_out(writers, feed.topic)
        send(log, 1, 4, again=64)
        _carry(writers, feed.topic)
        # What one wrote must not make the other take the rest of the source for repeats.
        send(log, 2, 5, again=32)
        _carry([writers[0]], feed.topic)
        writers[1].close()
        writers[1] = Writer(embedded_db, log, settings)
        _share_out(writers, feed.topic)
        send(log, 0, 3)
        _carry(writers, feed.topic)
        for writer in writers:
            writer.finish()
        drain(embedded_db, log_url, settings=settings, limit_s=SETTLE_S)
    assert stored(embedded_db) == feed.expected(), uneven_seconds(embedded_db)
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_counts_are_exact_where_one_of_two_writers_is_killed_again_and_again(
    embedded_db: str, log_url: str, feed: Quarters
) -> None:
    rng = random.Random(5)
    writers = Writers(embedded_db, log_url)
    writers.argv += ["--topics", f"^{feed.topic}$", "--group", feed.topic]
    try:
        with open_log(log_url) as log:
            log.create_topic(feed.topic, PARTITIONS)
            running = [writers.start() for _ in range(2)]
            for _ in range(4):
                until = time.monotonic() + rng.uniform(1.0, 5.0)
                while time.monotonic() < until:
                    append(log, feed.topic, feed.tick(), [rng.randrange(PARTITIONS) for _ in range(5)])
                    time.sleep(0.2)
                victim = rng.randrange(2)
                running[victim].send_signal(signal.SIGKILL)
                running[victim] = writers.start()
            expected = {router: row[:4] for router, row in feed.expected().items()}
            deadline = time.monotonic() + SETTLE_S
            while {r: row[:4] for r, row in stored(embedded_db).items()} != expected and time.monotonic() < deadline:
                time.sleep(0.5)
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            assert process.wait(SETTLE_S) in (0, -signal.SIGTERM), process.communicate()[1][-2000:]
        settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
        drain(embedded_db, log_url, settings=settings, limit_s=SETTLE_S)
        assert stored(embedded_db) == feed.expected(), uneven_seconds(embedded_db)
        assert quality(embedded_db) == ([], [])
    finally:
        writers.stop()


def _shares(url: str, topic: str) -> list[int]:
    """How many slices of the topic each running writer has locked, fewest first."""
    numbers = {zlib.crc32(f"{topic} slice {part}".encode()) ^ 0x80000000 for part in range(slices.SLICES)}
    with connect(url, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT pid, objid::bigint FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted AND application_name = 'flitwatch shares'"
            " AND datname = current_database()"
        ).fetchall()
    return sorted(Counter(pid for pid, number in rows if number in numbers).values())


def _past(url: str, topic: str, ends: dict[int, int]) -> int:
    """How many slices are written up to these ends."""
    with connect(url, autocommit=True) as conn:
        rows = conn.execute(
            "SELECT slice, partition, position FROM slice_position WHERE topic = %s", [topic]
        ).fetchall()
    behind = {part for part, partition, position in rows if position < ends[partition]}
    return len({part for part, *_ in rows} - behind)


@pytest.mark.integration
@pytest.mark.system("numeric")
def test_writers_come_stand_still_end_and_are_killed_and_every_record_counts_once(
    embedded_db: str, log_url: str, feed: Quarters
) -> None:
    """What an operator does with writers: a second and a third are started, one hangs for longer than the log waits for it, one is stopped, one dies."""
    rng = random.Random(9)
    writers = Writers(embedded_db, log_url)
    writers.argv += ["--topics", f"^{feed.topic}$", "--group", feed.topic]
    half, quarter = slices.SLICES // 2, slices.SLICES // 4
    try:
        with open_log(log_url) as log:
            log.create_topic(feed.topic, PARTITIONS)

            def feed_until(done: Callable[[], bool], least_s: float = 0.0) -> None:
                begun = time.monotonic()
                while time.monotonic() - begun < least_s or not done():
                    assert time.monotonic() - begun < SETTLE_S, _shares(embedded_db, feed.topic)
                    append(log, feed.topic, feed.tick(), [rng.randrange(PARTITIONS) for _ in range(5)])
                    time.sleep(0.1)

            first = writers.start()
            feed_until(lambda: written(embedded_db) > 0)
            assert _shares(embedded_db, feed.topic) == []
            second = writers.start()
            feed_until(lambda: _shares(embedded_db, feed.topic) == [half, half])
            third = writers.start()
            feed_until(lambda: _shares(embedded_db, feed.topic) == [quarter, quarter, half])
            # The log gives its partitions to the others after ten seconds. It has what it had, and they go on with theirs.
            first.send_signal(signal.SIGSTOP)
            feed_until(lambda: True, least_s=13.0)
            ends = dict(enumerate(log.end_offsets(feed.topic)))
            feed_until(lambda: _past(embedded_db, feed.topic, ends) >= half)
            assert _past(embedded_db, feed.topic, ends) < slices.SLICES
            first.send_signal(signal.SIGCONT)
            feed_until(lambda: _past(embedded_db, feed.topic, ends) == slices.SLICES)
            feed_until(lambda: _shares(embedded_db, feed.topic) == [quarter, quarter, half])
            second.send_signal(signal.SIGTERM)
            feed_until(lambda: _shares(embedded_db, feed.topic) == [half, half])
            assert second.wait(SETTLE_S) == 0
            third.kill()
            feed_until(lambda: _undivided(embedded_db, feed.topic))
            expected = {router: row[:4] for router, row in feed.expected().items()}
            deadline = time.monotonic() + SETTLE_S
            while {r: row[:4] for r, row in stored(embedded_db).items()} != expected and time.monotonic() < deadline:
                time.sleep(0.5)
        first.send_signal(signal.SIGTERM)
        assert first.wait(SETTLE_S) == 0, first.communicate()[1][-2000:]
        settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
        drain(embedded_db, log_url, settings=settings, limit_s=SETTLE_S)
        assert stored(embedded_db) == feed.expected(), uneven_seconds(embedded_db)
        assert quality(embedded_db) == ([], [])
    finally:
        for process in writers.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
        writers.stop()


def _undivided(url: str, topic: str) -> bool:
    with connect(url, autocommit=True) as conn:
        return conn.execute("SELECT FROM topic_division WHERE topic = %s", [topic]).fetchone() is None


@pytest.mark.integration
def test_an_older_writer_writes_nothing_to_a_divided_topic(embedded_db: str) -> None:
    """It knows `stream_position` alone, and would write again what the slices have."""
    reader = ingest.Reader("writer", "table:1")
    place, slot = ("ldms.a", 0), slices.Slot("ldms.a", 0, 3)
    with connect(embedded_db, role="writer", autocommit=True) as conn:
        ingest.advance(conn, reader, {place: ingest.Position(10, 4)}, {})
        slices.divide(conn, reader, "ldms.a")
        slices.advance(conn, reader, {slot: ingest.Position(12, 6)}, {slot: 10}, None)
        with pytest.raises(Conflict):
            ingest.advance(conn, reader, {place: ingest.Position(11, 5)}, {place: 10})
        with pytest.raises(Conflict):
            slices.advance(conn, reader, {slot: ingest.Position(13, 6)}, {slot: 10}, None)
        assert ingest.standing(conn, reader) == {place: 10}
        assert not slices.unite(conn, reader, "ldms.a")
        everywhere = {slices.Slot("ldms.a", 0, part): ingest.Position(12, 5) for part in range(slices.SLICES)}
        slices.advance(conn, reader, everywhere, dict.fromkeys(everywhere, 10) | {slot: 12}, None)
        assert slices.unite(conn, reader, "ldms.a")
        assert ingest.positions(conn, reader) == {place: ingest.Position(12, 5)}
        ingest.advance(conn, reader, {place: ingest.Position(20, 15)}, {place: 12})
