"""A writer that ends while it rebuilds what another had in memory."""

from __future__ import annotations

import math

import pytest
from ingest.writing import Quarters, append, quality, stored

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import dragonfly
from flitwatch_ingest.writer import WriterSettings, assigned_topics
from flitwatch_ingest.writer.drain import drain
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream.backends import open_log

SECONDS = 25


@pytest.mark.integration
@pytest.mark.parametrize("handed_over", [False, True])
def test_port_buckets_rebuilt_by_half_are_left_to_the_next_writer(
    embedded_db: str, topic: str, handed_over: bool
) -> None:
    fabric = dragonfly(1, 2, 4, name="replay")
    with connect(embedded_db) as conn:
        fabrics.save(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    pattern = f"^ldms.{topic}$"
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        for second in range(SECONDS):
            # The second partition is read again to its end while the first still has some seconds left.
            append(log, feed.topic, feed.tick(), spread=(0, 1) if second < SECONDS - 6 else (0,))
        killed = Writer(embedded_db, log, WriterSettings(pattern=pattern))
        while not (killed.step() == 0 and killed.assigned.caught_up()):
            pass
        killed.commit()
        killed.commit()
        killed.close()
        successor = Writer(embedded_db, log, WriterSettings(pattern=pattern, most_records=5))
        while [mark.replaying for _, mark in sorted(successor._memory.marks.items())] != [True, False]:
            successor.step()
        if handed_over:
            successor._let_go({feed.topic})
            successor.close()
        else:
            successor.finish()
        drain(embedded_db, embedded_db, settings=WriterSettings(pattern=pattern), limit_s=60)
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
def test_a_topic_that_waits_for_the_registry_is_not_taken_for_rebuilt(
    embedded_db: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else is read, so that the writer looks for instances that stopped; what it was rebuilding is not in memory yet."""
    fabric = dragonfly(1, 2, 4, name="waits")
    with connect(embedded_db) as conn:
        fabrics.save(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    pattern = f"^ldms.{topic}$"
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        append(log, feed.topic, feed.ticks(SECONDS), spread=(0, 1))
        killed = Writer(embedded_db, log, WriterSettings(pattern=pattern))
        while not (killed.step() == 0 and killed.assigned.caught_up()):
            pass
        killed.commit()
        killed.commit()
        killed.close()
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
        drain(embedded_db, embedded_db, settings=WriterSettings(pattern=pattern), limit_s=60)
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
def test_a_late_record_is_counted_though_what_follows_it_in_another_partition_was_written(
    embedded_db: str, topic: str
) -> None:
    """The late sample is read before the written one, which is only replayed; their difference was never counted."""
    fabric = dragonfly(1, 2, 4, name="late")
    with connect(embedded_db) as conn:
        fabrics.save(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^ldms.{topic}$", most_records=5)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 2)
        before, after = feed.tick(), feed.tick()
        append(log, feed.topic, after, spread=(1,))
        killed = Writer(embedded_db, log, settings)
        while killed.step() or not (killed.assigned.mine and killed.assigned.caught_up()):
            pass
        killed.commit()
        killed.commit()
        killed.close()
        append(log, feed.topic, before, spread=(0,))
        drain(embedded_db, embedded_db, settings=settings, limit_s=60)
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])
