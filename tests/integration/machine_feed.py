"""The counters of a whole machine with known sums, sent in real time by a process that is never killed."""

from __future__ import annotations

import json
import math
import pickle
import queue
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, LiteralString

from integration.hosts import Host
from integration.platform import Platform
from integration.report import Report

from flitwatch_db import connect
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.generators import build_dragonfly
from flitwatch_research.ingest_bench.checks import carried_at, check_rows
from flitwatch_research.ingest_bench.load import Order
from flitwatch_research.ingest_bench.sets import metric_sets, write_registry
from flitwatch_stream.backends import open_log

ROUTERS_PER_GROUP = 96
PARTITIONS = 4
READY_S, END_S = 180.0, 900.0
#: Queries whose rows are printed if they differ.
QUERIES: dict[str, LiteralString] = {
    "seconds with too few routers": "SELECT ts, count(*), sum(samples) FROM router_1s GROUP BY ts HAVING count(*) <> %(routers)s ORDER BY ts LIMIT 20",
    "gaps": "SELECT reason, count(*), min(from_ts), max(to_ts) FROM gap GROUP BY reason",
    "dead letters": "SELECT reason, count(*), min(where_) FROM dead_letter GROUP BY reason LIMIT 20",
}


class MachineFeed:
    """492 counters of each router, one set a second, as Avro.

    Parameters
    ----------
    folder : Path        for the schemas and the load's order
    routers : int        whole groups of 96
    seconds : int        it ends by itself after so many
    """

    def __init__(self, folder: Path, routers: int, seconds: int) -> None:
        self.fabric = build_dragonfly(math.ceil(routers / ROUTERS_PER_GROUP), name="machine")
        sets = metric_sets(self.fabric, quarters=False)
        self.folder, self.registry = folder, folder / "registry.json"
        self.order = Order("", sets, "avro", seconds, write_registry(self.registry, sets))
        self.first_s, self._sent = 0, 0
        self._said: queue.Queue[str] = queue.Queue()
        self._load: subprocess.Popen[str] | None = None

    @property
    def second(self) -> int:
        """The last second that was sent, since the epoch."""
        self._hear()
        return self.first_s + self._sent

    def begin(self, platform: Platform, far: Host | None) -> None:
        """Store the fabric, make the topics and let the load begin, on the far host if there is one."""
        state = platform.state()
        log_at = state["log"]
        with connect(state["database"]) as connection:
            fabrics.save_fabric(connection, self.fabric)
        with open_log(log_at) as log:
            for one in self.order.sets:
                log.create_topic(one.topic, PARTITIONS)
        self.order = replace(self.order, log_url=far.reach(log_at) if far is not None else log_at)
        file = self.folder / "order.pickle"
        file.write_bytes(pickle.dumps(self.order))
        argv = [sys.executable, "-m", "integration.machine_load", str(file)]
        errors = open(self.folder / "load.log", "ab")
        self._load = subprocess.Popen(
            far.command(argv) if far is not None else argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert self._load.stdin is not None and self._load.stdout is not None
        threading.Thread(target=self._listen, args=(self._load.stdout,), daemon=True).start()
        self.order = replace(self.order, log_url=log_at)
        assert self._said.get(timeout=READY_S) == "ready\n"
        self.first_s = int(time.time()) + 2
        self._load.stdin.write(f"{self.first_s}\n")
        self._load.stdin.flush()

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            self._said.put(line)

    def _hear(self) -> str:
        line = ""
        while not self._said.empty():
            line = self._said.get()
            if not line.startswith("{"):
                self._sent = int(line)
        if not line and self._load is not None and self._load.poll() is not None:
            raise AssertionError(f"the load ended: {(self.folder / 'load.log').read_text()[-2000:]}")
        return line

    def tick(self, platform: Platform) -> None:
        """The load keeps its own time; AssertionError where it ended."""
        self._hear()

    def finish(self, platform: Platform, report: Report) -> None:
        """End the load, wait until what it sent is in the database, and compare."""
        load = self._load
        assert load is not None and load.stdin is not None
        self._hear()
        load.stdin.close()
        load.wait(END_S)
        time.sleep(0.5)
        sent = json.loads(self._hear())
        report.load_late_max_s = sent["late_max_s"]
        url, ended_at = platform.state()["database"], time.time()
        report.drain_s = round(carried_at(url, self.order, END_S) - ended_at, 1)
        # A writer that ends writes the ten seconds of link counters that are not over yet.
        platform.end("writer")
        found = check_rows(url, self.order, self.first_s, sent["seconds"])
        report.lost, report.duplicated = found["lost"], found["duplicated"]
        report.wrong, report.dead_letters, report.gaps = found["wrong"], found["dead_letters"], found["gaps"]
        if found["wrong"]:
            self._tell(url, found)
        report.values = sent["records"] * len(self.order.sets[0].metrics)

    def _tell(self, url: str, found: dict[str, Any]) -> None:
        """Say what differs, and when: the database is gone afterwards."""
        print(f"wrong in {found['wrong_in']}, rows {found['rows']} of {found['rows_expected']}", file=sys.stderr)
        print(*found["examples"], sep="\n", file=sys.stderr)
        with connect(url, autocommit=True) as conn:
            for what, query in QUERIES.items():
                for row in conn.execute(query, {"routers": len(self.fabric.routers)}).fetchall():
                    print(f"{what}: {', '.join(map(str, row))}", file=sys.stderr)

    def stop(self) -> None:
        """End the load, whatever it does."""
        if self._load is not None:
            self._load.kill()
            self._load.wait()
