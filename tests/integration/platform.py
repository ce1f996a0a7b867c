"""A whole platform for tests: `flitwatch up`, a collector, and the content of its database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from integration.hosts import Host
from support.waiting import eventually

from flitwatch_db import connect
from flitwatch_ops.supervisor import read_running_state

END_S = 60.0


class Platform:
    """`flitwatch up` in a folder of its own, and a collector, here or on `far`, that somebody starts again when it dies."""

    def __init__(self, home: Path, stack: str, data: Path, far: Host | None = None) -> None:
        self.far, self._far_log = far, ""
        self.home, self.stack, self.data = home, stack, data
        self.environment = {**os.environ, "FLITWATCH_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        self.collector: subprocess.Popen | None = None
        #: Names and statuses of processes that were asked to end.
        self.ended: list[tuple[str, str]] = []

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
        state = read_running_state(self.home)
        assert state is not None, (self.home / "log" / "supervisor.log").read_text()[-2000:]
        return state

    def collect(self) -> None:
        """Start the collector, or start it again where it died."""
        if self.collector is None or self.collector.poll() is not None:
            log_at = self.state()["log"]
            if self.far is not None:
                log_at = self._far_log = self._far_log or self.far.reach(log_at)
            argv = self.command("collect", "ldms-csv", str(self.data), "--log", log_at, "--interval", "0.1")
            if self.far is not None:
                argv = self.far.command(argv)
            log = open(self.home / "log" / "collector.log", "ab")
            self.collector = subprocess.Popen(argv, env=self.environment, stdout=log, stderr=log)

    def end(self, name: str) -> None:
        """Ask a process to end and wait until it has; the supervisor starts it again."""
        pid = next(p["pid"] for p in self.state()["processes"] if p["name"] == name)
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not Path(f"/proc/{pid}").exists(), END_S, 0.1, what=f"{name} to end")
        self.ended.append((name, "0"))

    def servers(self) -> dict[str, int | None]:
        """Process ids of database and broker; None if one is down."""
        if self.stack == "full":
            from flitwatch_ops.stack.kafka import Kafka
            from flitwatch_ops.stack.timescale import Timescale

            return {"database": Timescale(self.home / "timescale").pid(), "broker": Kafka(self.home / "kafka").pid()}
        return {"database": int((self.home / "pg" / "data" / "postmaster.pid").read_text().split()[0])}

    def kill(self, victim: str) -> None:
        """Kill -9."""
        if victim == "collector":
            pid = self.collector.pid if self.collector is not None and self.collector.poll() is None else None
        elif victim in ("writer", "api", "worker"):
            pid = next(p["pid"] for p in self.state()["processes"] if p["name"] == victim)
        else:
            pid = self.servers()[victim]
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                return


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
