"""Kill -9 of collector, writer, log and database at random moments under load: the counts are exact afterwards.

`FLITWATCH_CHAOS_KILLS` kills a stack (default 6, and 20 among the long tests). The platform is the real one: `flitwatch up` with its supervisor.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.feed import SECOND_0, Feed
from integration.platform import Platform, totals
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ops.stack.daemon import free_port

pytestmark = pytest.mark.system("faults")

#: Each part of the embedded stack twice; the long test has more.
KILLS, MANY_KILLS = (int(os.environ.get("FLITWATCH_CHAOS_KILLS", default)) for default in ("6", "20"))
ROUTERS = 24
SETTLE_LIMIT_S = 90.0


@pytest.fixture(params=["embedded", pytest.param("full", marks=pytest.mark.system("faults"))])
def platform(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Platform]:
    if request.param == "full" and shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else tmp_path
    home = place / f"flitwatch-chaos-{request.param}-{os.getpid()}"
    one = Platform(home, request.param, tmp_path / "store_csv")
    try:
        one.start(free_port())
        yield one
    finally:
        one.stop()
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [KILLS, pytest.param(MANY_KILLS, marks=pytest.mark.system("faults"))])
def test_counts_are_exact_after_random_kills(platform: Platform, kills: int) -> None:
    rng = random.Random(7)
    url = platform.state()["database"]
    with connect(url) as connection:
        fabric = build_dragonfly(1, 6, 4, name="chaos")
        fabric_id = fabrics.save_fabric(connection, fabric)
    # Endpoints stand in the order of their routers, four to each.
    assert fabric.endpoints.router.tolist() == [r for r in range(ROUTERS) for _ in range(4)]
    feed = Feed(platform.data, ROUTERS, fabric.endpoints.component_id.tolist())
    feed.begin()
    victims = ["collector", "writer", "database"] + (["broker"] if platform.stack == "full" else [])
    for kill in range(kills):
        until = time.monotonic() + rng.uniform(0.5, 3.0)
        while time.monotonic() < until:
            platform.collect()
            feed.tick()
            time.sleep(0.05)
        platform.kill(victims[kill % len(victims)])
    feed.tick()
    expected = {r: (feed.second - SECOND_0 - 1, feed.flits[r], feed.stalls[r]) for r in range(ROUTERS)}

    def found() -> dict:
        platform.collect()
        try:
            return totals(platform.state()["database"], fabric_id)
        except Exception as away:  # the database may still be coming back
            return {"away": away}

    eventually(lambda: found() == expected, SETTLE_LIMIT_S, 0.5, what=f"the totals {expected}", detail=found)
    with connect(platform.state()["database"], autocommit=True) as connection:
        assert connection.execute("SELECT reason, where_ FROM dead_letter").fetchall() == []
        assert connection.execute("SELECT reason, device FROM gap").fetchall() == []


@pytest.mark.integration
@pytest.mark.system("faults")
@pytest.mark.timeout(600)
def test_nothing_is_lost_over_kills_a_full_disk_stepped_clocks_and_a_cut_network() -> None:
    from integration.campaign import Setting, chaos
    from integration.hosts import can_be_had

    report = chaos(Setting("embedded", free_port()), int(os.environ.get("FLITWATCH_CHAOS_SHORT", "6")), seed=3)
    assert (report.lost, report.duplicated, report.crashes) == (0, 0, 0) and report.values > 0
    assert len(report.recoveries_s) >= 6 and report.network_cuts == (2 if can_be_had() else 0)
