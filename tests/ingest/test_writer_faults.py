"""Faults of the writer: kills, two logs, lost topics, a full disk, a backlog, and a database that is unavailable."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from ingest.writing import Quarters, append, drain_log, quality, stored, uneven_seconds
from support import disks
from support.databases import server_folder
from support.waiting import eventually

from flitwatch.command_line import cli
from flitwatch_db import connect
from flitwatch_db.core.log_keep import disk_of
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest.topic_leases import TopicLeases
from flitwatch_db.migrations import migrate_database
from flitwatch_domain.data_disk import LEAST_FREE, MIB
from flitwatch_domain.errors import Conflict, DiskFull, Unavailable
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.jobs import Job
from flitwatch_ingest.collectors.publisher import Publisher
from flitwatch_ingest.collectors.sacct import publish_jobs
from flitwatch_ingest.writer import WriterSettings, assigned_topics
from flitwatch_ingest.writer.assigned_topics import AssignedTopics
from flitwatch_ingest.writer.loop import Writer
from flitwatch_ingest.writer.merging import Merger
from flitwatch_ingest.writer.metrics import WriterCollector
from flitwatch_ops.embedded import Embedded
from flitwatch_stream import table_producer
from flitwatch_stream.backends import open_log
from flitwatch_stream.log import Record, TopicPartition

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
            # A writer asked to end before it began holds nothing yet.
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


# Two logs before one database: offsets of the one mean nothing in the other.


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
def test_an_import_alongside_a_writer_of_another_log_is_written(embedded_db: str, second_log: str, topic: str) -> None:
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


# A writer that lost its topics for a while forgets what it had read of them, also where it learns of that in two steps.


TOPICS = ("ldms.a", "ldms.b")


def test_a_batch_that_is_held_up_is_written_once_when_it_can_be(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("flitwatch_ingest.writer.database.LONG_STATEMENT_S", 0.2)
    with open_log(embedded_db) as log, log.producer() as producer:
        publisher = Publisher(producer)
        publish_jobs([Job("c", "1", "COMPLETED", start_s=1_790_000_000, end_s=1_790_000_060)], publisher)
        publisher.flush()
    thread = threading.Thread(target=drain_log, args=(embedded_db, embedded_db))
    with connect(embedded_db, role="owner") as conn:
        conn.execute("LOCK TABLE job")
        thread.start()
        eventually(lambda: "retrying the transaction: canceling statement due to statement timeout" in caplog.text)
    thread.join()
    with connect(embedded_db, role="reader") as conn:
        assert conn.execute("SELECT count(*) FROM job").fetchone() == (1,)


class BreakingLeases(TopicLeases):
    """Leases whose connection breaks after the first of several topics was taken, while `breaks`."""

    breaks = False

    def take(self, names: Collection[str]) -> set[str]:
        if not self.breaks:
            return super().take(names)
        super().take(sorted(names)[:1])
        self.close()
        self.held.clear()
        raise Unavailable("the connection broke")


def test_a_takeover_is_noticed_although_the_first_look_after_it_failed(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assigned_topics, "LOOK_S", 0.0)
    with open_log(embedded_db) as log, log.producer() as producer:
        for topic in TOPICS:
            producer.append(topic, b"{}")
        producer.flush()
        leases = BreakingLeases(embedded_db, "g log")
        mine = AssignedTopics(
            log, lambda: leases, "g", "ldms[.].*", lambda places: dict.fromkeys(places, 0), lambda names: None
        )
        mine.poll(10, 0.0)
        assert mine.mine >= set(TOPICS) and set(mine.epochs(TOPICS)) == set(TOPICS)
        leases.close()
        leases.held.clear()
        other = TopicLeases(embedded_db, "g log")
        assert other.take(TOPICS[:1]) == set(TOPICS[:1])
        other.close()
        leases.breaks = True
        with pytest.raises(Unavailable):
            mine.poll(10, 0.0)
        leases.breaks = False
        with pytest.raises(Conflict, match="another writer had"):
            mine.poll(10, 0.0)
        mine.poll(10, 0.0)
        mine.close()


# A disk with too little free space: records wait in the log, which takes more until half the space is gone.


@pytest.mark.integration
def test_records_wait_in_the_log_until_there_is_space(
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

        def read_only() -> float:
            names = {metric.name: metric for metric in WriterCollector(writer).collect()}
            return names["flitwatch_writer_read_only"].samples[0].value

        eventually(lambda: carried() == 3 * 32, every_s=0.0, what="the first seconds to be written")
        folder = disk_of(embedded_db).folder
        assert folder is not None
        free_mib = shutil.disk_usage(folder).free / MIB
        monkeypatch.setenv(LEAST_FREE, f"{1.5 * free_mib:.0f}")
        append(log, feed.topic, feed.ticks(3))
        assert [writer.step() for _ in range(3)] == [0, 0, 0]
        assert "MiB left" in (writer.measures.lack or "") and writer.measures.records == 3 * 32
        assert read_only() == 1
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
        assert writer.measures.lack is None and read_only() == 0
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


# A backlog whose nodes are spread over all partitions of a topic, as LDMS spreads them.


PARTITIONS = 4

BACKLOG_S = 120


@pytest.fixture(params=["table", pytest.param("kafka", marks=pytest.mark.system("stores"))])
def backlog_url(request: pytest.FixtureRequest, embedded_db: str) -> str:
    return embedded_db if request.param == "table" else request.getfixturevalue("kafka")


@pytest.mark.integration
def test_two_minutes_of_backlog_over_all_partitions_count_exactly(
    embedded_db: str, backlog_url: str, topic: str
) -> None:
    rng = random.Random(1)
    fabric = build_dragonfly(1, 2, 4, name="backlog")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Quarters(fabric, range(8), topic=f"ldms.{topic}")
    begin_ms = int(time.time() * 1000) - BACKLOG_S * 1000
    with open_log(backlog_url) as log:
        log.create_topic(feed.topic, PARTITIONS)
        with log.producer() as producer:
            for second in range(BACKLOG_S):
                for record in feed.tick():
                    at_ms = begin_ms + second * 1000 + rng.randrange(200)
                    producer.append(feed.topic, record, partition=rng.randrange(PARTITIONS), timestamp_ms=at_ms)
            producer.flush()
    drain_log(embedded_db, backlog_url, settings=WriterSettings(pattern=f"^ldms.{topic}$"), limit_s=60)
    assert quality(embedded_db) == ([], [])
    assert stored(embedded_db) == feed.expected()


@given(
    times=st.lists(st.lists(st.integers(0, 50), max_size=12), min_size=1, max_size=4),
    chunks=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=30),
)
def test_every_record_is_handed_on_once_and_in_the_order_of_time(
    times: list[list[int]], chunks: list[tuple[int, int]]
) -> None:
    logs = [
        [Record("t", p, i, ms, None, b"", ()) for i, ms in enumerate(sorted(found))] for p, found in enumerate(times)
    ]
    read = [0] * len(logs)
    asked: list[set[TopicPartition]] = []

    def unread() -> set[TopicPartition]:
        asked.append({TopicPartition("t", p) for p, found in enumerate(logs) if read[p] < len(found)})
        return asked[-1]

    merger = Merger(unread)
    merger._asked_at = -1e9
    out: list[Record] = []
    for partition, count in [*chunks, *((p, 12) for p in range(4))]:
        if partition < len(logs):
            part = logs[partition][read[partition] : read[partition] + count]
            read[partition] += len(part)
            merger._asked_at = -1e9
            out += merger.merge(part)
    merger._asked_at = -1e9
    out += merger.merge([])
    assert merger.empty
    assert [r.timestamp_ms for r in out] == sorted(r.timestamp_ms for found in logs for r in found)
    for partition, found in enumerate(logs):
        assert [r for r in out if r.partition == partition] == found


def test_a_backlog_is_merged_by_a_writer_whose_clock_is_half_an_hour_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("flitwatch_ingest.writer.merging.time.monotonic", lambda: now[0])
    merger = Merger(lambda: {TopicPartition("t", 0), TopicPartition("t", 1)})
    ahead_ms = int(time.time() * 1000) + 1_800_000

    def record(partition: int, second: int) -> Record:
        return Record("t", partition, second, ahead_ms + 1000 * second, None, b"", ())

    first = [record(0, second) for second in range(30)]
    assert merger.merge(first) == []
    now[0] += 20
    second = [record(1, second) for second in range(30)]
    assert [r.timestamp_ms for r in merger.merge(second)] == sorted(r.timestamp_ms for r in first + second)


def test_a_producer_whose_clock_is_ahead_does_not_hold_its_partition_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("flitwatch_ingest.writer.merging.time.monotonic", lambda: now[0])
    merger = Merger(lambda: {TopicPartition("t", 0), TopicPartition("t", 1)})
    ahead = Record("t", 0, 0, 2**41, None, b"", ())
    old = Record("t", 1, 0, 5, None, b"", ())
    assert merger.merge([ahead, old]) == [old]
    now[0] += 6
    assert merger.merge([]) == [ahead]


def test_a_partition_far_ahead_is_not_read_until_the_others_have_come_as_far() -> None:
    more = {TopicPartition("t", 0), TopicPartition("t", 1)}
    merger = Merger(lambda: more)

    def record(partition: int, offset: int) -> Record:
        return Record("t", partition, offset, 1000 + offset, None, bytes(1 << 20), ())

    assert merger.merge([record(0, i) for i in range(20)]) == []
    assert merger.ahead() == {TopicPartition("t", 0)}
    assert len(merger.merge([record(1, i) for i in range(10)])) == 20
    assert merger.ahead() == {TopicPartition("t", 0)}, "it waits until most of it was handed on"
    assert len(merger.merge([record(1, i) for i in range(10, 20)])) == 20
    assert merger.ahead() == set() and merger.empty


def test_records_that_are_fresh_do_not_wait() -> None:
    def never() -> set[TopicPartition]:
        raise AssertionError("asked for nothing")

    merger = Merger(never)
    fresh = [Record("t", p, 0, int(time.time() * 1000), None, b"", ()) for p in range(3)]
    assert merger.merge(fresh) == fresh


def test_what_was_read_is_handed_on_where_the_log_does_not_say_how_much_more_there_is() -> None:
    def unread() -> set[TopicPartition]:
        raise Unavailable("the broker does not answer")

    merger, now_ms = Merger(unread), int(time.time() * 1000)
    live = [Record("live", 0, offset, now_ms, None, b"", ()) for offset in range(3)]
    old = [Record("old", 0, offset, now_ms - 60_000, None, b"", ()) for offset in range(3)]
    assert sorted(merger.merge([*live, *old])) == sorted([*live, *old])
    assert merger.empty


# A writer whose database is gone, full or comes back: it says so in one line, loses nothing, and ends when it is asked to.


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


@pytest.mark.integration
@pytest.mark.system("faults")
def test_a_database_that_is_away_is_said_once_a_try_and_asked_to_end_the_writer_ends(
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


@pytest.mark.integration
@pytest.mark.system("faults")
def test_asked_to_end_while_it_waits_for_its_database_the_writer_ends(place: Path, kafka: str, topic: str) -> None:
    writer = Running("postgresql://127.0.0.1:9/nothing", kafka, f"^ldms.{topic}$", place / "said")
    try:
        until(lambda: any("waiting for the database" in line for line in writer.lines()), what="the writer's warning")
        assert writer.end() > 0
        assert "stopped while it waited" in writer.said.read_text() and "Traceback" not in writer.said.read_text()
    finally:
        writer.process.kill()
        writer.process.wait()


@pytest.mark.integration
@pytest.mark.system("faults")
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
