"""Two logs before one database: offsets of the one mean nothing in the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ingest.writing import Quarters, append, quality, stored

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream.backends import open_log

SECONDS = 8


@pytest.fixture(params=["table", pytest.param("kafka", marks=pytest.mark.system("stores"))])
def second_log(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a log that is not in the test's database."""
    if request.param == "kafka":
        yield request.getfixturevalue("kafka")
        return
    server = request.getfixturevalue("_embedded_template")
    url = server.create()
    with connect(url) as conn:
        # Copies of one database are one log until somebody says otherwise.
        conn.execute("UPDATE log.identity SET log_id = 'table:' || gen_random_uuid()")
    yield url
    server.drop(url)


@pytest.mark.integration
def test_an_import_beside_a_writer_of_another_log_is_written(embedded_db: str, second_log: str, topic: str) -> None:
    """Both logs have a topic of that name, and the other log is longer: neither its claims nor its positions may count here."""
    fabric = build_dragonfly(1, 2, 4, name="two-logs")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    name, settings = f"ldms.{topic}", WriterSettings(pattern=f"^ldms.{topic}$")
    far, near = Quarters(fabric, range(4), 1, topic=name), Quarters(fabric, range(4, 8), 2, topic=name)
    with open_log(second_log) as other, open_log(embedded_db) as own:
        for log in (other, own):
            log.create_topic(name, 1)
        assert other.identity() != own.identity() == open_log(embedded_db).identity()
        append(other, name, far.ticks(3 * SECONDS))
        writer = Writer(embedded_db, other, settings)
        while not (writer.step() == 0 and writer.assigned.mine and writer.assigned.caught_up()):
            pass
        writer.commit()
        append(own, name, near.ticks(SECONDS))
        drain_log(embedded_db, embedded_db, settings=settings, limit_s=60)
        append(other, name, far.ticks(SECONDS))
        writer.finish()
        writer.close()
        drain_log(embedded_db, second_log, settings=settings, limit_s=60)
    assert stored(embedded_db) == far.expected() | near.expected()
    assert quality(embedded_db) == ([], [])
