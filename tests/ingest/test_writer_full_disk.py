"""A disk with too little room left: records wait in the log, which takes more until half the room is gone."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner
from ingest.writing import Quarters, append, quality, stored
from support.waiting import eventually

from flitwatch.main import cli
from flitwatch_db import connect
from flitwatch_db.core.disk import disk_of
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.data_disk import LEAST_FREE, MIB
from flitwatch_domain.errors import DiskFull
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_ingest.writer.loop import Writer
from flitwatch_stream import table_producer
from flitwatch_stream.backends import open_log


@pytest.mark.integration
def test_records_wait_in_the_log_until_there_is_room(
    embedded_db: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = build_dragonfly(1, 2, 4, name="full")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    settings = WriterSettings(pattern=f"^{feed.topic}$", group=feed.topic)
    with open_log(embedded_db) as log:
        log.create_topic(feed.topic, 1)
        append(log, feed.topic, feed.ticks(3))
        writer = Writer(embedded_db, log, settings)

        def carried() -> int:
            writer.step()
            writer.commit()
            return writer.measures.records

        eventually(lambda: carried() == 3 * 32, every_s=0.0, what="the first seconds to be written")
        folder = disk_of(embedded_db).folder
        assert folder is not None
        free_mib = shutil.disk_usage(folder).free / MIB
        monkeypatch.setenv(LEAST_FREE, f"{1.5 * free_mib:.0f}")
        append(log, feed.topic, feed.ticks(3))
        assert [writer.step() for _ in range(3)] == [0, 0, 0]
        assert "MiB left" in (writer.measures.lack or "") and writer.measures.records == 3 * 32
        with pytest.raises(DiskFull):
            drain_log(embedded_db, embedded_db, settings=settings, limit_s=60)
        monkeypatch.setenv(LEAST_FREE, f"{3 * free_mib:.0f}")
        monkeypatch.setattr(table_producer, "APPEND_TIMEOUT_S", 0.0)
        with log.producer() as producer:
            producer.append(feed.topic, next(iter(held := list(feed.tick()))))
            with pytest.raises(DiskFull):
                producer.flush(0.0)
            monkeypatch.setenv(LEAST_FREE, "0")
            producer.flush()
        append(log, feed.topic, held[1:])
        eventually(lambda: carried() == 7 * 32, every_s=0.0, what="what waited to be written")
        assert writer.measures.lack is None
        writer.finish()
    assert stored(embedded_db) == feed.expected()
    assert quality(embedded_db) == ([], [])


@pytest.mark.integration
def test_imports_are_refused_with_the_reason(embedded_db: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEAST_FREE, "1e15")
    (tmp_path / "jobs.txt").write_text("JobID|User\n")
    ran = CliRunner().invoke(cli, ["import", "sacct", str(tmp_path / "jobs.txt"), "--db", embedded_db])
    assert ran.exit_code == 1 and isinstance(ran.exception, DiskFull)
    assert "nothing new is stored" in str(ran.exception)
