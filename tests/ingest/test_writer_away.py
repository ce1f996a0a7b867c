"""A writer whose database is gone, full or comes back: it says so in one line, loses nothing, and ends when it is told to."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ingest.writing import Quarters, append, quality, stored
from support import disks
from support.databases import server_folder
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.migrations import migrate_database
from flitwatch_domain.data_disk import LEAST_FREE
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ops.embedded import Embedded
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.integration, pytest.mark.system("faults")]

PATIENCE_S = 60.0


class Running:
    """`flitwatch writer` and what it says."""

    def __init__(self, url: str, log_url: str, pattern: str, said: Path) -> None:
        self.said = said
        argv = ["writer", "--db", url, "--log", log_url, "--topics", pattern, "--interval", "0.2"]
        with said.open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "flitwatch.main", *argv], stdout=log, stderr=log)

    def lines(self) -> list[str]:
        return self.said.read_text().splitlines()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


until = partial(eventually, timeout_s=PATIENCE_S, every_s=0.1)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory for a server of the test's own."""
    folder = server_folder("away-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 160 MB."""
    with disks.small_disk(place / "disk", "160m") as disk:
        yield disk


def begun(server: Embedded, kafka: str, topic: str, said: Path) -> tuple[Quarters, Running]:
    """A migrated database, a feed, and a writer that has written its first second."""
    url = server.start()
    migrate_database(url)
    fabric = build_dragonfly(1, 2, 4, name="away")
    with connect(url) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    with open_log(kafka) as log:
        log.create_topic(feed.topic, 1)
        append(log, feed.topic, feed.ticks(2))
    writer = Running(url, kafka, f"^{feed.topic}$", said)
    until(lambda: len(stored(url)) == 8, what="the first second to be written")
    return feed, writer


def test_a_database_that_is_away_is_said_once_a_try_and_told_to_end_the_writer_ends(
    place: Path, kafka: str, topic: str
) -> None:
    server = Embedded(place / "pg")
    feed, writer = begun(server, kafka, topic, place / "said")
    try:
        server.kill()
        with open_log(kafka) as log:
            append(log, feed.topic, feed.ticks(2))
        until(lambda: any("WARNING" in line for line in writer.lines()), what="the writer's warning")
        assert writer.process.poll() is None
        assert writer.end() == 0
        assert any("will be re-read" in line for line in writer.lines())
        assert "Traceback" not in writer.said.read_text()
        server.start()
        writer = Running(server.url, kafka, f"^{feed.topic}$", place / "said")
        until(lambda: stored(server.url).get(0, (0,))[0] == 3, what="the rest to be written")
        assert writer.end() == 0
        assert stored(server.url) == feed.expected()
        assert quality(server.url) == ([], [])
    finally:
        writer.process.kill()
        writer.process.wait()
        server.destroy()


def test_told_to_end_while_it_waits_for_its_database_the_writer_ends(place: Path, kafka: str, topic: str) -> None:
    writer = Running("postgresql://127.0.0.1:9/nothing", kafka, f"^ldms.{topic}$", place / "said")
    try:
        until(lambda: any("waiting for the database" in line for line in writer.lines()), what="the writer's warning")
        assert writer.end() > 0
        assert "stopped while it waited" in writer.said.read_text() and "Traceback" not in writer.said.read_text()
    finally:
        writer.process.kill()
        writer.process.wait()


def test_a_full_disk_stops_nothing_but_time(
    small_disk: Path, place: Path, kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a mark the writer would stop before.
    monkeypatch.setenv(LEAST_FREE, "0")
    server = Embedded(small_disk / "pg", settings={"min_wal_size": "32MB", "max_wal_size": "48MB"})
    feed, writer = begun(server, kafka, topic, place / "said")
    ballast = small_disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with open_log(kafka) as log:

            def tries_again() -> bool:
                if any("retrying the transaction" in line for line in writer.lines()):
                    return True
                append(log, feed.topic, feed.ticks(20))
                return False

            eventually(tries_again, PATIENCE_S, 0.0, "the writer to report that it tries again", detail=writer.lines)
        assert writer.process.poll() is None
        ballast.unlink()
        server.start()
        with open_log(kafka) as log:
            append(log, feed.topic, feed.ticks(2))
        until(lambda: stored(server.url)[0][0] == feed.seconds - 1, what="the rest to be written")
        assert writer.end() == 0
        assert "Traceback" not in writer.said.read_text()
        assert stored(server.url) == feed.expected()
        assert quality(server.url) == ([], [])
    finally:
        writer.process.kill()
        writer.process.wait()
        server.destroy()
