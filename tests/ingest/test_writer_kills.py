"""kill -9 of the writer at random moments under load: every record counts once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from ingest.writing import Quarters, append, quality, stored, uneven_seconds
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ingest.writer.drain import drain_log
from flitwatch_stream.backends import open_log

#: The long test has more.
KILLS, MANY_KILLS = (int(os.environ.get("FLITWATCH_WRITER_KILLS", default)) for default in ("3", "6"))
SETTLE_S = 120.0


class Writers:
    """`flitwatch writer` processes on one database and log."""

    def __init__(self, url: str, log_url: str) -> None:
        self.argv = [
            sys.executable,
            "-m",
            "flitwatch.main",
            "writer",
            "--db",
            url,
            "--log",
            log_url,
            "--interval",
            "0.3",
        ]
        self.processes: list[subprocess.Popen] = []

    def start(self) -> subprocess.Popen:
        process = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture(params=["table", pytest.param("kafka", marks=pytest.mark.system("faults"))])
def log_url(request: pytest.FixtureRequest, embedded_db: str) -> str:
    return embedded_db if request.param == "table" else request.getfixturevalue("kafka")


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.parametrize("kills", [KILLS, pytest.param(MANY_KILLS, marks=pytest.mark.system("faults"))])
@pytest.mark.parametrize("count", [1, 2])
def test_counts_are_exact_after_random_kills(
    embedded_db: str, log_url: str, count: int, kills: int, topic: str
) -> None:
    rng = random.Random(count)
    fabric = build_dragonfly(1, 2, 4, name="kills")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    # Two topics, so that two writers share them; samples of a node go to random partitions.
    feeds = [
        Quarters(fabric, range(3), seed=1, topic=f"ldms.{topic}_a"),
        Quarters(fabric, range(3, 8), seed=2, topic=f"ldms.{topic}_b"),
    ]
    writers = Writers(embedded_db, log_url)
    writers.argv += ["--topics", rf"^ldms\.{topic}_"]
    try:
        with open_log(log_url) as log:
            for feed in feeds:
                log.create_topic(feed.topic, 3)
            running = [writers.start() for _ in range(count)]
            for _ in range(kills):
                # A writer that was started anew has written before it is killed again, however slow the machine is.
                until, before = time.monotonic() + rng.uniform(0.3, 3.0), written(embedded_db)
                while time.monotonic() < until or written(embedded_db) == before:
                    assert time.monotonic() < until + SETTLE_S
                    for feed in feeds:
                        append(log, feed.topic, feed.tick(), spread=[rng.randrange(3) for _ in range(5)])
                    time.sleep(0.1)
                victim = rng.randrange(count)
                running[victim].send_signal(signal.SIGKILL)
                running[victim] = writers.start()
            expected = feeds[0].expected() | feeds[1].expected()
            eventually(
                lambda: _seconds_only(stored(embedded_db)) == _seconds_only(expected),
                SETTLE_S,
                0.5,
                "every second to be stored",
                detail=lambda: (uneven_seconds(embedded_db), quality(embedded_db)),
            )
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            # A writer told to end before it began holds nothing yet.
            assert process.wait(60) in (0, -signal.SIGTERM), process.communicate()[1][-2000:]
        # A writer that ended while it rebuilt what a killed one had in memory leaves that to the next.
        drain_log(embedded_db, log_url, settings=WriterSettings(pattern=rf"^ldms\.{topic}_"), limit_s=60)
        assert stored(embedded_db) == expected, uneven_seconds(embedded_db)
        assert quality(embedded_db) == ([], [])
    finally:
        writers.stop()


def written(url: str) -> int:
    """How many records are written."""
    with connect(url) as conn:
        row = conn.execute("SELECT coalesce(sum(position), 0)::bigint FROM stream_position").fetchone()
    assert row is not None
    return int(row[0])


def _seconds_only(rows: dict) -> dict:
    return {router: row[:4] for router, row in rows.items()}
