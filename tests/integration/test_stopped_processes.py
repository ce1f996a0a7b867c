"""Processes stopped (SIGSTOP) at random times: another writer takes over their topics, and each sample counts once when they continue."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from ingest.writing import Quarters, append, drain_log, quality, uneven_seconds
from ingest.writing import stored as in_tables
from integration.feed import SECOND_0, Feed
from integration.platform import Platform, totals
from support.databases import server_processes, stopped
from support.disks import fill, small_disk
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.ingest.topic_leases import LEASE_S
from flitwatch_domain.data_disk import LEAST_FREE
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ingest.writer import WriterSettings
from flitwatch_ops.embedded import Embedded
from flitwatch_ops.stack.daemon import free_port
from flitwatch_stream.backends import open_log

#: Stops of either writer.
STOPS = int(os.environ.get("FLITWATCH_STOPS", "6"))

TOPICS, ROUTERS_EACH = 4, 4

LIMIT_S = 180.0


@pytest.fixture
def writers(embedded_db: str, topic: str, tmp_path: Path) -> Iterator[list[subprocess.Popen]]:
    """Two that share the topics."""
    argv = [sys.executable, "-m", "flitwatch.main", "writer", "--db", embedded_db, "--topics", f"^ldms\\.{topic}"]
    with contextlib.ExitStack() as held:
        made = []
        for number in range(2):
            said = held.enter_context((tmp_path / f"{number}.log").open("wb"))
            process = subprocess.Popen([*argv, "--group", topic, "--interval", "0.2"], stdout=said, stderr=said)
            held.callback(process.wait)
            held.callback(process.kill)
            made.append(process)
        yield made


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(900)
def test_another_writer_takes_over_and_each_sample_counts_once(
    embedded_db: str,
    embedded_server: Embedded,
    topic: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    fabric = build_dragonfly(1, 4, 4, name="stopped")
    with connect(embedded_db) as conn:
        fabrics.save_fabric(conn, fabric)
    shares = [range(first, first + ROUTERS_EACH) for first in range(0, TOPICS * ROUTERS_EACH, ROUTERS_EACH)]
    feeds = [Quarters(fabric, share, n, topic=f"ldms.{topic}{n}") for n, share in enumerate(shares)]
    drawn = random.Random(5)
    with open_log(embedded_db) as log:
        for feed in feeds:
            log.create_topic(feed.topic, 2)

        def go_on(seconds: int = 1) -> None:
            for feed in feeds:
                append(log, feed.topic, feed.ticks(seconds), (0, 1))

        def all_written() -> bool:
            with connect(embedded_db, autocommit=True) as conn:
                rows = conn.execute(
                    "SELECT router, count(*) FROM router_1s WHERE samples = 4 GROUP BY router"
                ).fetchall()
            wanted = {router: feed.seconds - 1 for feed in feeds for router in feed.routers}
            return dict(rows) == wanted

        go_on(3)
        writers = request.getfixturevalue("writers")
        eventually(all_written, LIMIT_S, 0.2, "the first seconds to be written")
        took_s = []
        for number in range(STOPS):
            writer = writers[number % 2]
            until = time.monotonic() + drawn.uniform(0.5, 2.5)
            while time.monotonic() < until:
                go_on()
            with stopped(writer.pid):
                begun = time.monotonic()
                go_on(3)
                eventually(all_written, LIMIT_S, 0.2, f"the other writer to take over, stop {number}")
                took_s.append(time.monotonic() - begun)
            go_on(3)
            eventually(all_written, LIMIT_S, 0.2, f"both to go on after stop {number}")
        # The database itself, for longer than a lease.
        with stopped(*server_processes(embedded_server)):
            time.sleep(1.2 * LEASE_S)
        go_on(3)
        eventually(all_written, LIMIT_S, 0.2, "the writers to go on after the database")
        print(f"a standby had written all after {', '.join(f'{s:.1f}' for s in took_s)} s")
        for writer in writers:
            writer.send_signal(signal.SIGTERM)
            assert writer.wait(LIMIT_S) == 0
        drain_log(
            embedded_db, embedded_db, settings=WriterSettings(pattern=f"^ldms.{topic}", group=topic), limit_s=LIMIT_S
        )
    expected = {router: row for feed in feeds for router, row in feed.expected().items()}
    assert in_tables(embedded_db) == expected, uneven_seconds(embedded_db)
    assert quality(embedded_db) == ([], [])
    said = "".join(file.read_text() for file in tmp_path.glob("*.log"))
    assert "Traceback" not in said, re.findall(r"(?s)Traceback.*", said)[0][:2000]


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else tmp_path
    one = Platform(place / f"flitwatch-stopped-{os.getpid()}", "embedded", tmp_path / "store_csv")
    try:
        one.start(free_port())
        yield one
    finally:
        one.stop()
        shutil.rmtree(one.home, ignore_errors=True)


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(900)
def test_each_process_of_a_platform_may_stand_still(platform: Platform) -> None:
    state = platform.state()
    url = state["database"]
    with connect(url) as conn:
        fabric = build_dragonfly(1, 6, 4, name="still")
        fabric_id = fabrics.save_fabric(conn, fabric)
    feed = Feed(platform.data, 24, fabric.endpoints.component_id.tolist())
    feed.begin()

    def expected() -> dict:
        return {r: (feed.second - SECOND_0 - 1, feed.flits[r], feed.stalls[r]) for r in range(24)}

    def all_there() -> bool:
        platform.collect()
        with contextlib.suppress(Exception):
            return totals(url, fabric_id) == expected()
        return False

    feed.tick()
    feed.tick()
    eventually(all_there, LIMIT_S, 0.5, "the first seconds")
    server = Embedded(platform.home / "pg")
    pids = {one["name"]: one["pid"] for one in state["processes"]}
    for name, stopping in [*((name, [pid]) for name, pid in pids.items()), ("database", [])]:
        with stopped(*(stopping or server_processes(server))):
            for _ in range(3):
                feed.tick()
            if name in ("writer", "database"):
                time.sleep(1.2 * LEASE_S)
            else:
                eventually(all_there, LIMIT_S, 0.5, f"the counters while {name} stands still")
        feed.tick()
        eventually(all_there, LIMIT_S, 0.5, f"the counters after {name} stood still")
    eventually(lambda: httpx.get(f"{state['url']}readyz", timeout=60).status_code == 200, LIMIT_S)
    assert {one["name"]: one["pid"] for one in platform.state()["processes"]} == pids
    with connect(url, autocommit=True) as conn:
        assert conn.execute("SELECT reason, where_ FROM dead_letter").fetchall() == []
        assert conn.execute("SELECT reason, device FROM gap").fetchall() == []


# A whole platform whose disk fills up and whose processes are killed meanwhile: it says why it stores nothing, comes back by itself, and the counts are exact.


ROUTERS = 24

DISK_MIB, LEAST_MIB = 1500, 300


@pytest.fixture
def platform_on_full_disk(tmp_path: Path) -> Iterator[Platform]:
    """A platform on a small file system of its own."""
    with small_disk(tmp_path / "home", f"{DISK_MIB}m") as home:
        one = Platform(home, "embedded", tmp_path / "store_csv")
        one.environment[LEAST_FREE] = str(LEAST_MIB)
        try:
            one.start(free_port())
            yield one
        finally:
            one.stop()


def in_log_and_tables(url: str) -> tuple[int, int]:
    """Records in the log, and the newest second in the tables."""
    with connect(url, autocommit=True) as conn:
        row = conn.execute(
            "SELECT (SELECT coalesce(sum(next_offset), 0) FROM log.partition),"
            " (SELECT coalesce(extract(epoch FROM max(ts)), 0)::bigint FROM router_1s)"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(600)
def test_a_full_disk_and_kills_meanwhile_cost_nothing_but_time(platform_on_full_disk: Platform) -> None:
    state = platform_on_full_disk.state()
    supervisor, url = state["pid"], state["database"]
    with connect(url) as conn:
        fabric = build_dragonfly(1, 6, 4, name="full")
        fabric_id = fabrics.save_fabric(conn, fabric)
    feed = Feed(platform_on_full_disk.data, ROUTERS, fabric.endpoints.component_id.tolist())
    feed.begin()

    def read_only() -> str | None:
        try:
            said: str | None = httpx.get(f"{state['url']}readyz", timeout=60).json()["read_only"]
        except (httpx.HTTPError, KeyError):
            return "the API does not answer, or is not ready"
        return said

    def found() -> dict:
        platform_on_full_disk.collect()
        with contextlib.suppress(Exception):  # the database may still be coming back
            return totals(url, fabric_id)
        return {}

    def expected() -> dict:
        return {r: (feed.second - SECOND_0 - 1, feed.flits[r], feed.stalls[r]) for r in range(ROUTERS)}

    for _ in range(5):
        feed.tick()
    eventually(lambda: found() == expected(), LIMIT_S, 0.5, what="the first seconds")
    assert read_only() is None

    # Below the mark: the log takes records, the tables none.
    fill(platform_on_full_disk.home, (LEAST_MIB * 3 // 4) << 20)
    eventually(lambda: "MiB left" in (read_only() or ""), what="/readyz to say that it is read-only")
    logged = platform_on_full_disk.home / "log" / "writer.log"
    eventually(lambda: "new records wait in the log" in logged.read_text(), what="the writer to wait")
    records, second = in_log_and_tables(url)
    for _ in range(5):
        feed.tick()
    eventually(lambda: in_log_and_tables(url)[0] >= records + 5 * 4 * ROUTERS, LIMIT_S, what="records in the log")
    assert in_log_and_tables(url)[1] == second

    # No byte left, and every process killed.
    fill(platform_on_full_disk.home, 0)
    killed = {one["name"]: one["pid"] for one in platform_on_full_disk.state()["processes"]}
    for pid in killed.values():
        os.kill(pid, signal.SIGKILL)
    for _ in range(5):
        feed.tick()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in killed.values()), what="them to be gone")
    platform_on_full_disk.kill("database")
    eventually(lambda: platform_on_full_disk.servers()["database"] is not None, LIMIT_S)
    assert Path(f"/proc/{supervisor}").exists()

    (platform_on_full_disk.home / "ballast").unlink()
    for _ in range(5):
        feed.tick()
    eventually(lambda: found() == expected(), LIMIT_S, 0.5, what=f"the totals {expected()}", detail=found)
    assert platform_on_full_disk.state()["pid"] == supervisor
    eventually(
        lambda: all(
            one["pid"] not in (None, killed[one["name"]]) and Path(f"/proc/{one['pid']}").exists()
            for one in platform_on_full_disk.state()["processes"]
        ),
        LIMIT_S,
        what="every process to run again",
    )
    eventually(lambda: read_only() is None, LIMIT_S)
    with connect(url, autocommit=True) as conn:
        assert conn.execute("SELECT reason, where_ FROM dead_letter").fetchall() == []
        assert conn.execute("SELECT reason, device FROM gap").fetchall() == []
