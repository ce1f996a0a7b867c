"""A whole platform whose disk fills up and whose processes are killed meanwhile: it says why it stores nothing, comes back by itself, and the counts are exact."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from integration.feed import SECOND_0, Feed
from integration.platform import Platform, totals
from support.disks import fill, small_disk
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.data_disk import LEAST_FREE
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ops.stack.daemon import free_port

pytestmark = [pytest.mark.integration, pytest.mark.system("faults"), pytest.mark.timeout(600)]

ROUTERS = 24
DISK_MIB, LEAST_MIB = 1500, 300
LIMIT_S = 180.0


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
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


def test_a_full_disk_and_kills_meanwhile_cost_nothing_but_time(platform: Platform) -> None:
    state = platform.state()
    supervisor, url = state["pid"], state["database"]
    with connect(url) as conn:
        fabric = build_dragonfly(1, 6, 4, name="full")
        fabric_id = fabrics.save_fabric(conn, fabric)
    feed = Feed(platform.data, ROUTERS, fabric.endpoints.component_id.tolist())
    feed.begin()

    def read_only() -> str | None:
        try:
            said: str | None = httpx.get(f"{state['url']}readyz", timeout=60).json()["read_only"]
        except (httpx.HTTPError, KeyError):
            return "the API does not answer, or is not ready"
        return said

    def found() -> dict:
        platform.collect()
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
    fill(platform.home, (LEAST_MIB * 3 // 4) << 20)
    eventually(lambda: "MiB left" in (read_only() or ""), what="/readyz to say that it is read-only")
    logged = platform.home / "log" / "writer.log"
    eventually(lambda: "new records wait in the log" in logged.read_text(), what="the writer to wait")
    records, second = in_log_and_tables(url)
    for _ in range(5):
        feed.tick()
    eventually(lambda: in_log_and_tables(url)[0] >= records + 5 * 4 * ROUTERS, LIMIT_S, what="records in the log")
    assert in_log_and_tables(url)[1] == second

    # No byte left, and every process killed.
    fill(platform.home, 0)
    killed = {one["name"]: one["pid"] for one in platform.state()["processes"]}
    for pid in killed.values():
        os.kill(pid, signal.SIGKILL)
    for _ in range(5):
        feed.tick()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in killed.values()), what="them to be gone")
    platform.kill("database")
    eventually(lambda: platform.servers()["database"] is not None, LIMIT_S)
    assert Path(f"/proc/{supervisor}").exists()

    (platform.home / "ballast").unlink()
    for _ in range(5):
        feed.tick()
    eventually(lambda: found() == expected(), LIMIT_S, 0.5, what=f"the totals {expected()}", detail=found)
    assert platform.state()["pid"] == supervisor
    eventually(
        lambda: all(
            one["pid"] not in (None, killed[one["name"]]) and Path(f"/proc/{one['pid']}").exists()
            for one in platform.state()["processes"]
        ),
        LIMIT_S,
        what="every process to run again",
    )
    eventually(lambda: read_only() is None, LIMIT_S)
    with connect(url, autocommit=True) as conn:
        assert conn.execute("SELECT reason, where_ FROM dead_letter").fetchall() == []
        assert conn.execute("SELECT reason, device FROM gap").fetchall() == []
