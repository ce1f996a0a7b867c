"""A writer that ends while it rebuilds another writer's memory."""

from __future__ import annotations

import math

import pytest
from ingest.writing import Quarters, append, drain_log, quality, stored

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings, assigned_topics
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Log

SECONDS = 25


def killed_at_the_end(url: str, log: Log, pattern: str, everything: bool = False) -> None:
    """A writer that reads all there is, commits (with `everything`: also port buckets that are not over) and is killed."""
    killed = Writer(url, log, WriterSettings(pattern=pattern))
    while killed.step() or not (killed.assigned.mine and killed.assigned.caught_up()):
        pass
    killed.commit(everything)
    killed.commit(everything)
    killed.close()


@pytest.mark.integration
@pytest.mark.parametrize("handed_over", [False, True])
def test_port_buckets_rebuilt_by_half_are_left_to_the_next_writer(
    embedded_db: str, topic: str, handed_over: bool
) -> None:
    fabric = build_dragonfly(1, 2, 4, name="replay")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    pattern = f"^ldms.{topic}$"
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        for second in range(SECONDS):
            # The second partition is read again to its end while the first still has some seconds left.
            append(log, feed.topic, feed.tick(), spread=(0, 1) if second < SECONDS - 6 else (0,))
        killed_at_the_end(embedded_db, log, pattern)
        successor = Writer(embedded_db, log, WriterSettings(pattern=pattern, most_records=5))
        while [mark.replaying for _, mark in sorted(successor._memory.marks.items())] != [True, False]:
            successor.step()
        if handed_over:
            successor._let_go({feed.topic})
            successor.close()
        else:
            successor.finish()
        drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=pattern), limit_s=60)
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
def test_a_topic_that_waits_for_the_registry_is_not_taken_for_rebuilt(
    embedded_db: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else is read, so that the writer looks for instances that stopped; what it was rebuilding is not in memory yet."""
    fabric = build_dragonfly(1, 2, 4, name="waits")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    pattern = f"^ldms.{topic}$"
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        append(log, feed.topic, feed.ticks(SECONDS), spread=(0, 1))
        killed_at_the_end(embedded_db, log, pattern)
        successor = Writer(embedded_db, log, WriterSettings(pattern=pattern, most_records=5))
        while not (successor.replaying and successor._memory.feeds):
            successor.step()
        monkeypatch.setattr(assigned_topics, "BLOCKED_S", 0.2)
        successor.assigned.block(feed.topic)
        successor._silence_at = -math.inf
        successor._look_around()
        assert successor.replaying
        append(log, feed.topic, feed.ticks(3), spread=(0, 1))
        while successor.replaying or successor.step() or not successor.assigned.caught_up():
            successor.step()
        successor.finish()
        drain_log(embedded_db, embedded_db, settings=WriterSettings(pattern=pattern), limit_s=60)
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
def test_a_late_record_is_counted_though_what_follows_it_in_another_partition_was_written(
    embedded_db: str, topic: str
) -> None:
    """The late sample is read before the written one, which is only replayed; their difference was never counted."""
    fabric = build_dragonfly(1, 2, 4, name="late")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^ldms.{topic}$", most_records=5)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        before, after = feed.tick(), feed.tick()
        append(log, feed.topic, after, spread=(1,))
        killed_at_the_end(embedded_db, log, settings.pattern)
        append(log, feed.topic, before, spread=(0,))
        drain_log(embedded_db, embedded_db, settings=settings, limit_s=60)
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])


def two_topics_of_different_age(embedded_db: str, topic: str, log: Log) -> tuple[Quarters, Quarters]:
    """Two topics of one fabric, each written by a writer that was killed; the ports of the second are written half a minute further."""
    fabric = build_dragonfly(1, 2, 4, name="ages")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    older = Quarters(fabric, range(4), topic=f"ldms.{topic}.older")
    younger = Quarters(fabric, range(4, 8), topic=f"ldms.{topic}.younger")
    for feed, seconds in ((older, SECONDS), (younger, SECONDS + 30)):
        log.create_topic(feed.topic, 2)
        append(log, feed.topic, feed.ticks(seconds), spread=(0, 1))
        killed_at_the_end(embedded_db, log, f"^{feed.topic}$")
    return older, younger


def rebuilds_half(writer: Writer, feed: Quarters) -> None:
    """Steps until half of the feed's replay is in memory."""

    def left() -> int:
        return sum(mark.replay_until - mark.position for mark in writer._memory.marks.of(feed.topic).values())

    while left() == 0:
        writer.step()
    half = left() // 2
    while left() > half:
        writer.step()
    assert writer._memory.marks.replaying(feed.topic)


@pytest.mark.integration
def test_port_buckets_that_are_written_for_another_topic_wait_until_they_are_whole(
    embedded_db: str, topic: str
) -> None:
    """The part that was rebuilt would be written before the topic's positions move, and again by the next writer."""
    settings = WriterSettings(pattern=f"^ldms.{topic}.", most_records=5)
    with open_log(embedded_db) as log:
        older, younger = two_topics_of_different_age(embedded_db, topic, log)
        successor = Writer(embedded_db, log, settings)
        rebuilds_half(successor, older)
        successor.commit()
        successor.commit()
        successor.close()
        drain_log(embedded_db, embedded_db, settings=settings, limit_s=60)
    assert stored(embedded_db) == older.expected() | younger.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.system("faults")
@pytest.mark.integration
def test_a_topic_that_waits_while_it_is_rebuilt_holds_no_other_up(
    embedded_db: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry does not answer in the middle of the replay: what the other topic brings is written all the same."""
    settings = WriterSettings(pattern=f"^ldms.{topic}.", most_records=5, most_rows=100)
    with open_log(embedded_db) as log:
        older, younger = two_topics_of_different_age(embedded_db, topic, log)
        successor = Writer(embedded_db, log, settings)
        rebuilds_half(successor, older)
        monkeypatch.setattr(assigned_topics, "BLOCKED_S", 3600.0)
        successor.assigned.block(older.topic)
        append(log, younger.topic, younger.ticks(30), spread=(0, 1))
        for _ in range(1500):
            successor.step()
            if all(stored(embedded_db)[router][0] >= younger.seconds - 5 for router in younger.routers):
                break
        else:
            pytest.fail("the younger topic was held up")
        successor.close()
        drain_log(embedded_db, embedded_db, settings=settings, limit_s=60)
    assert stored(embedded_db) == older.expected() | younger.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
def test_a_hole_and_a_damaged_batch_alongside_a_replay_are_reported_once(embedded_db: str, topic: str) -> None:
    """One partition has nothing left to replay while another one is replayed; the writer that sees the damage first is killed."""
    fabric = build_dragonfly(1, 2, 4, name="holes")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(4), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^ldms.{topic}$", most_records=5)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        append(log, feed.topic, feed.ticks(SECONDS), spread=(0, 1))
        killed_at_the_end(embedded_db, log, settings.pattern, everything=True)
        for record in (b"lost", b"damaged"):
            append(log, feed.topic, [record])
        spoil(embedded_db, feed.topic)
        successor = Writer(embedded_db, log, settings)
        for _ in range(100):
            successor.step()
            if passed := any(mark.passed for mark in successor._memory.marks.values()):
                break
        assert passed
        successor.commit()
        successor.commit()
        successor.close()
        drain_log(embedded_db, embedded_db, settings=settings, limit_s=60)
    assert stored(embedded_db) == feed.expected()
    gaps, letters = quality(embedded_db)
    assert gaps == []
    assert [reason.split(":")[0] for _, _, reason in letters] == [
        "1 earlier records were deleted from the log before they were written",
        "a batch of 1 records of the log cannot be read",
    ]


def spoil(url: str, topic: str) -> None:
    """Trim the first partition of a topic to its last batch, and damage that."""
    last = "(SELECT max(base_offset) FROM log.batch WHERE topic_id = %(id)s AND partition = 0)"
    here = "topic_id = %(id)s AND partition = 0 AND base_offset"
    with connect(url) as conn:
        (found,) = conn.execute("SELECT topic_id FROM log.topic WHERE name = %s", [topic]).fetchone() or (None,)
        conn.execute(f"DELETE FROM log.batch WHERE {here} < {last}".encode(), {"id": found})
        conn.execute(f"UPDATE log.batch SET payload = '\\x00' WHERE {here} = {last}".encode(), {"id": found})
