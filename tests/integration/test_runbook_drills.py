"""Five entries of docs/runbook.md as drills: each causes the symptom, finds the quoted line, takes the action, and checks the recovery."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from integration.feed import Feed
from integration.platform import Platform
from support.disks import fill, small_disk
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.data_disk import LEAST_FREE
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ops.stack.daemon import free_port
from flitwatch_stream.backends import open_log

pytestmark = [pytest.mark.integration, pytest.mark.system("faults"), pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
ROUTERS, DISK_MIB, LEAST_MIB = 24, 1500, 300
LIMIT_S = 120.0


class Site:
    """A platform with a collector, and what an operator looks at."""

    def __init__(self, platform: Platform, feed: Feed) -> None:
        self.platform, self.feed = platform, feed
        self.url = platform.state()["url"]

    def readyz(self) -> tuple[int, str]:
        try:
            answer = httpx.get(f"{self.url}readyz", timeout=30)
        except httpx.HTTPError as problem:
            return 0, str(problem)
        return answer.status_code, answer.text

    def figure(self, name: str) -> float:
        """The sum over the labels of a metric of the API."""
        lines = httpx.get(f"{self.url}metrics", timeout=30).text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if re.match(rf"{name}[{{ ]", line))

    def log(self, name: str) -> str:
        return (self.platform.home / "log" / f"{name}.log").read_text()

    def pid(self, name: str) -> int:
        return next(one["pid"] for one in self.platform.state()["processes"] if one["name"] == name)

    def sees(self, symptom: Callable[[], bool], what: str) -> None:
        def seen() -> bool:
            self.platform.collect()
            return symptom()

        eventually(seen, LIMIT_S, 0.3, what=what)

    def feed_seconds(self, seconds: int = 3) -> None:
        for _ in range(seconds):
            self.feed.tick()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("drills")
    with small_disk(place / "home", f"{DISK_MIB}m") as home:
        platform = Platform(home, "embedded", place / "store_csv")
        platform.environment[LEAST_FREE] = str(LEAST_MIB)
        try:
            platform.start(free_port())
            fabric = build_dragonfly(1, 6, 4, name="drill")
            with connect(platform.state()["database"]) as conn:
                fabrics.save_fabric(conn, fabric)
            feed = Feed(platform.data, ROUTERS, fabric.endpoints.component_id.tolist())
            feed.begin()
            yield Site(platform, feed)
        finally:
            platform.stop()


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Processes in state T; their end is what the runbook tells: kill -CONT."""

    def send(number: signal.Signals) -> None:
        for pid in pids:
            # A server process may have ended with its connection.
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    send(signal.SIGSTOP)
    try:
        yield
    finally:
        send(signal.SIGCONT)


def quotes(text: str) -> str:
    """The fixed part of a line that the runbook quotes."""
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    assert text in runbook, text
    return text


def test_readyz_while_the_database_does_not_answer(site: Site) -> None:
    database = Path(f"/proc/{site.platform.servers()['database']}")
    children = (database / "task" / database.name / "children").read_text().split()
    # The first is the one that would start others.
    with stopped(int(database.name), *map(int, children)):
        said = quotes("the database has not answered for")
        site.sees(lambda: site.readyz()[0] == 503 and said in site.readyz()[1], "503 with the reason")
    site.sees(lambda: site.readyz()[0] == 200, "readiness")


def test_ingest_falls_behind_and_catches_up(site: Site) -> None:
    figure = quotes("flitwatch_ingest_lag_records")
    site.feed_seconds()
    site.sees(lambda: site.figure(figure) == 0 < site.figure("flitwatch_ingest_records_total"), "no lag")
    with stopped(site.pid("writer")):
        site.feed_seconds()
        site.sees(lambda: site.figure(figure) > 0 < site.figure("flitwatch_ingest_unwritten_seconds"), "the lag")
    site.sees(lambda: site.figure(figure) == 0 == site.figure("flitwatch_ingest_unwritten_seconds"), "no lag")


def test_refused_records_are_shown_with_their_reason(site: Site) -> None:
    figure = quotes("flitwatch_ingest_dead_letters")
    before = site.figure(figure)
    with open_log(site.platform.state()["log"]) as log, log.producer() as producer:
        producer.append("ldms.aries_rtr_mmr", b"no record of any kind")
    site.sees(lambda: site.figure(figure) == before + 1, "the refused record")
    (newest, *_) = httpx.get(f"{site.url}api/v1/ingest/dead-letters", timeout=30).json()["items"]
    assert newest["topic"] == "ldms.aries_rtr_mmr" and newest["reason"]


def test_nothing_new_is_stored_on_a_nearly_full_disk(site: Site) -> None:
    said = quotes("new records wait in the log")
    fill(site.platform.home, (LEAST_MIB * 3 // 4) << 20)
    site.sees(lambda: "MiB left" in site.readyz()[1], "read-only")
    site.sees(lambda: said in site.log("writer"), "the writer's line")
    (site.platform.home / "ballast").unlink()
    site.sees(lambda: '"read_only":null' in site.readyz()[1].replace(" ", ""), "the end of read-only")
    site.feed_seconds()
    site.sees(lambda: site.figure("flitwatch_ingest_lag_records") == 0, "all records written")


def test_a_process_that_ends_is_started_again_and_that_is_timed(site: Site) -> None:
    left, again = quotes("restarting it"), quotes("was started again after")
    killed = site.pid("alerting")
    os.kill(killed, signal.SIGKILL)
    site.sees(lambda: site.pid("alerting") not in (None, killed), "the process to run again")
    log = site.log("supervisor")
    assert f"alerting exited with -9; {left}" in log and f"alerting {again}" in log
    (entry,) = (one for one in site.platform.state()["processes"] if one["name"] == "alerting")
    assert entry["restarts"] == 1 and entry["last_down_s"] < LIMIT_S
