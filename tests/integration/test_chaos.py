"""Kill -9 of collector, writer, log and database at random moments under load: the counts are exact afterwards.

`FLITWATCH_CHAOS_KILLS` kills a stack (default 20). The platform is the real one: `flitwatch up` with its supervisor.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.feed import SECOND_0, Feed

from flitwatch.supervisor import running
from flitwatch_db import connect, fabrics
from flitwatch_domain.generators import dragonfly

KILLS = int(os.environ.get("FLITWATCH_CHAOS_KILLS", "20"))
ROUTERS = 24
SETTLE_LIMIT_S = 90.0


class Platform:
    """`flitwatch up` in a folder of its own, and a collector beside it that somebody starts again when it dies."""

    def __init__(self, home: Path, stack: str, data: Path) -> None:
        self.home, self.stack, self.data = home, stack, data
        self.environment = {**os.environ, "FLITWATCH_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        self.collector: subprocess.Popen | None = None

    def command(self, *argv: str) -> list[str]:
        return [sys.executable, "-m", "flitwatch.main", *argv]

    def start(self, port: int) -> None:
        argv = self.command("up", "--stack", self.stack, "--port", str(port), "--twin", "none", "--json")
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]

    def stop(self) -> None:
        if self.collector is not None:
            self.collector.kill()
            self.collector.wait()
        subprocess.run(self.command("down"), env=self.environment, capture_output=True, timeout=120)

    def state(self) -> dict:
        state = running(self.home)
        assert state is not None, (self.home / "log" / "supervisor.log").read_text()[-2000:]
        return state

    def collect(self) -> None:
        """Start the collector, or start it again where it died."""
        if self.collector is None or self.collector.poll() is not None:
            argv = self.command(
                "collect", "ldms-csv", str(self.data), "--log", self.state()["log"], "--interval", "0.1"
            )
            log = open(self.home / "log" / "collector.log", "ab")
            self.collector = subprocess.Popen(argv, env=self.environment, stdout=log, stderr=log)

    def kill(self, victim: str) -> None:
        """Kill -9."""
        if victim == "collector":
            pid = self.collector.pid if self.collector is not None and self.collector.poll() is None else None
        elif victim == "writer":
            pid = next(p["pid"] for p in self.state()["processes"] if p["name"] == "writer")
        elif victim == "broker":
            from flitwatch.stack.kafka import Kafka

            pid = Kafka(self.home / "kafka").pid()
        elif self.stack == "full":
            from flitwatch.stack.timescale import Timescale

            pid = Timescale(self.home / "timescale").pid()
        else:
            pid = int((self.home / "pg" / "data" / "postmaster.pid").read_text().split()[0])
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                return


@pytest.fixture(params=["embedded", pytest.param("full", marks=[pytest.mark.kafka, pytest.mark.timescale])])
def platform(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Platform]:
    if request.param == "full" and shutil.which("java") is None:
        pytest.skip("needs Java: apt-get install openjdk-17-jre-headless")
    place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else tmp_path
    home = place / f"flitwatch-chaos-{request.param}-{os.getpid()}"
    one = Platform(home, request.param, tmp_path / "store_csv")
    try:
        one.start(18790 if request.param == "embedded" else 18791)
        yield one
    finally:
        one.stop()
        shutil.rmtree(home, ignore_errors=True)


def totals(url: str, fabric_id: int) -> dict[int, tuple[int, int, int]]:
    """(seconds with rows, flits, stalls) of each router, from the seconds and, as a check, equal sums from the minutes."""
    with connect(url, autocommit=True) as connection:
        seconds = connection.execute(
            "SELECT router, count(*), sum(rt_flits), sum(rt_stall_cycles) FROM router_1s WHERE fabric_id = %s GROUP BY router",
            (fabric_id,),
        ).fetchall()
        minutes = connection.execute(
            "SELECT router, sum(rt_flits), sum(rt_stall_cycles) FROM router_1m WHERE fabric_id = %s GROUP BY router",
            (fabric_id,),
        ).fetchall()
    assert {r: (f, s) for r, _, f, s in seconds} == {r: (f, s) for r, f, s in minutes}
    return {router: (count, int(flits), int(stalls)) for router, count, flits, stalls in seconds}


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_counts_are_exact_after_random_kills(platform: Platform) -> None:
    rng = random.Random(7)
    url = platform.state()["database"]
    with connect(url) as connection:
        fabric = dragonfly(1, 6, 4, name="chaos")
        fabric_id = fabrics.save(connection, fabric)
    # Endpoints stand in the order of their routers, four to each.
    assert fabric.endpoints.router.tolist() == [r for r in range(ROUTERS) for _ in range(4)]
    feed = Feed(platform.data, ROUTERS, fabric.endpoints.component_id.tolist())
    feed.begin()
    victims = ["collector", "writer", "database"] + (["broker"] if platform.stack == "full" else [])
    for kill in range(KILLS):
        until = time.monotonic() + rng.uniform(0.5, 3.0)
        while time.monotonic() < until:
            platform.collect()
            feed.tick()
            time.sleep(0.05)
        platform.kill(victims[kill % len(victims)])
    feed.tick()
    expected = {r: (feed.second - SECOND_0 - 1, feed.flits[r], feed.stalls[r]) for r in range(ROUTERS)}
    found: dict = {}
    deadline = time.monotonic() + SETTLE_LIMIT_S
    while found != expected and time.monotonic() < deadline:
        platform.collect()
        time.sleep(0.5)
        try:
            found = totals(platform.state()["database"], fabric_id)
        except Exception as away:  # the database may still be coming back
            found = {"away": away}
    assert found == expected
    with connect(platform.state()["database"], autocommit=True) as connection:
        assert connection.execute("SELECT reason, where_ FROM dead_letter").fetchall() == []
        assert connection.execute("SELECT reason, device FROM gap").fetchall() == []
