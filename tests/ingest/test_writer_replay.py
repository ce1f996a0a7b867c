"""A writer that ends while it rebuilds what another had in memory."""

from __future__ import annotations

import pytest
from ingest.writing import Quarters, append, quality, stored

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import dragonfly
from flitwatch_ingest.writer import WriterSettings
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
