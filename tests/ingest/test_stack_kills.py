"""kill -9 of writer, collector, log and database at random moments under load, on both stacks: exact counts."""

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
from ingest.writing import quality, stored, uneven_seconds
from integration.feed import SECOND_0, Feed
from support.databases import server_folder
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_db.migrations import migrate_database
from flitwatch_domain.errors import MissingDependency
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ops.embedded import Embedded

KILLS = int(os.environ.get("FLITWATCH_STACK_KILLS", "8"))
ROUTERS = 8
SETTLE_S = 90.0


class Site:
    """Servers, a writer and a collector, each of which can be killed and started again."""

    def __init__(self, folder: Path, full: bool) -> None:
        self.folder, self.data = folder, folder / "store_csv"
        self.running: dict[str, subprocess.Popen] = {}
        if full:
            from flitwatch_ops.stack.kafka import Kafka
            from flitwatch_ops.stack.timescale import Timescale

            self.servers = {"database": Timescale(folder / "timescale"), "broker": Kafka(folder / "kafka", quick=True)}
        else:
            self.servers = {"database": Embedded(folder / "pg")}

    def start(self) -> None:
        for server in self.servers.values():
            server.start()
        self.url = self.servers["database"].url
        self.log_url = self.servers["broker"].url if "broker" in self.servers else self.url
        migrate_database(self.url)

    def run(self, name: str) -> None:
        """Start the writer or the collector, unless it runs."""
        if name in self.running and self.running[name].poll() is None:
            return
        argv = ["writer", "--db", self.url, "--log", self.log_url, "--interval", "0.3"]
        if name == "collector":
            argv = ["collect", "ldms-csv", str(self.data), "--log", self.log_url, "--interval", "0.1"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "flitwatch.main", *argv],
                stdout=log,
                stderr=log,
                env={**os.environ, "FLITWATCH_HOME": str(self.folder)},
            )

    def kill(self, name: str) -> None:
        if name in self.servers:
            self.servers[name].kill()
        else:
            self.running[name].kill()
            self.running[name].wait()

    def start_again(self, name: str) -> None:
        if name in self.servers:
            self.servers[name].start()
        else:
            self.run(name)

    def said(self) -> str:
        """What a wrong sum is looked for by: uneven seconds, gaps and dead letters, and the ends of the logs."""
        logs = [(self.folder / f"{name}.log").read_text()[-3000:] for name in ("writer", "collector")]
        return "\n".join([f"uneven {uneven_seconds(self.url)}", f"quality {quality(self.url)}", *logs])

    def end(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()
        for server in self.servers.values():
            server.destroy()


@pytest.fixture(
    params=[
        pytest.param("embedded", marks=pytest.mark.system("faults")),
        pytest.param("full", marks=pytest.mark.system("faults")),
    ]
)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    folder = server_folder("kills-")
    one = Site(folder, request.param == "full")
    try:
        one.start()
        yield one
    except MissingDependency as absent:
        pytest.skip(str(absent))
    finally:
        one.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.integration
@pytest.mark.system("faults")
def test_counts_are_exact_after_kills_of_everything(site: Site) -> None:
    rng = random.Random(11)
    fabric = build_dragonfly(1, 2, 4, name="kills")
    with connect(site.url) as conn:
        fabrics.save_fabric(conn, fabric)
    feed = Feed(site.data, ROUTERS, fabric.endpoints.component_id.tolist())
    feed.begin()
    names = ["writer", "collector", *site.servers]
    victims = [names[k % len(names)] for k in range(KILLS)]
    rng.shuffle(victims)

    def send(seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            feed.tick()
            time.sleep(0.05)

    for victim in victims:
        site.run("collector")
        site.run("writer")
        send(rng.uniform(0.3, 2.0))
        site.kill(victim)
        send(rng.uniform(0.0, 1.0))
        site.start_again(victim)
    feed.tick()
    seconds = feed.second - SECOND_0 - 1
    expected = {r: (seconds, 4 * seconds, feed.flits[r], feed.stalls[r]) for r in range(ROUTERS)}

    def complete() -> bool:
        site.run("collector")
        site.run("writer")
        return {router: row[:4] for router, row in stored(site.url).items()} == expected

    eventually(complete, SETTLE_S, 0.5, "every record to be stored", detail=site.said)
    site.running["writer"].send_signal(signal.SIGTERM)
    assert site.running["writer"].wait(60) == 0, (site.folder / "writer.log").read_text()[-2000:]
    assert stored(site.url) == {router: (*row, row[2]) for router, row in expected.items()}, site.said()
    assert quality(site.url) == ([], [])
    for name in ("writer", "collector"):
        assert "Traceback" not in (site.folder / f"{name}.log").read_text(), name
