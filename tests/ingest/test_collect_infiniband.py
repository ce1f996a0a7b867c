"""`flitwatch collect infiniband` against a real OpenSM, ibnetdiscover and perfquery over ibsim."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from noise_core import flow_ibsim
from routing import opensm

from flitwatch_db import connect
from flitwatch_domain.generators import xgft
from flitwatch_ingest.writer.drain import drain
from flitwatch_routing import lft

pytestmark = pytest.mark.integration

FABRIC = xgft(2, [4, 4], [1, 2])
SATURATED = 0xFFFFFFFF


class Subnet:
    """A simulated subnet that OpenSM brought up, and `flitwatch` on its first host."""

    def __init__(self, folder: Path) -> None:
        switches, ports = lft.guids(FABRIC)
        self.switches = [f"S-{guid:016x}" for guid in switches]
        (folder / "fabric.topo").write_text(opensm.ibsim_text(FABRIC))
        programs = folder / "bin"
        programs.mkdir()
        for tool in ("ibnetdiscover", "perfquery"):
            # The simulator's library belongs into the tools alone, not into Python.
            script = f'#!/bin/sh\nLD_PRELOAD={flow_ibsim.UMAD2SIM} exec /usr/sbin/{tool} "$@"\n'
            (programs / tool).write_text(script)
            (programs / tool).chmod(0o755)
        self.environment = os.environ | {
            "PATH": f"{programs}:{os.environ.get('PATH', '')}:/usr/sbin",
            "IBSIM_SOCKNAME": f"flitwatch-{os.getpid()}-{folder.name}",
            "SIM_HOST": f"H-{ports[0] - 1:016x}",
            "FLITWATCH_HOME": str(folder / "home"),
        }
        self.simulator = subprocess.Popen(
            ["ibsim", "-s", str(folder / "fabric.topo")],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        time.sleep(1.0)
        subprocess.run(
            ["opensm", "-R", "minhop", "-o", "-f", str(folder / "log")],
            env=self.environment
            | {"LD_PRELOAD": str(flow_ibsim.UMAD2SIM), "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)},
            cwd=folder, timeout=120, check=True, capture_output=True,
        )  # fmt: skip

    def count(self, switch: int, port: int, **counters: int) -> None:
        """Let a switch's port have counted this."""
        assert self.simulator.stdin is not None
        for name, value in counters.items():
            self.simulator.stdin.write(
                f'PerformanceSet "{self.switches[switch]}"[{port}] PortCounters.{name}={value}\n'
            )
        self.simulator.stdin.flush()
        time.sleep(0.3)

    def collect(self, url: str, *options: str) -> dict:
        """What `flitwatch collect infiniband --once --json` prints."""
        words = ["collect", "infiniband", "--once", "--json", "--db", url, "--fabric", "tree", *options]
        done = subprocess.run(
            [sys.executable, "-m", "flitwatch.main", *words],
            env=self.environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) | {"said": done.stderr}


@pytest.fixture
def subnet(tmp_path: Path) -> Iterator[Subnet]:
    flow_ibsim.require()
    found = Subnet(tmp_path)
    yield found
    found.simulator.terminate()
    found.simulator.wait(10)


def waited(url: str) -> dict[tuple[str, int], int]:
    """Stall ticks by switch and port."""
    with connect(url) as conn:
        rows = conn.execute(
            "SELECT name, p.n - 1, sum(p.v)::bigint FROM port_10s JOIN router USING (fabric_id, router),"
            " unnest(stall_cycles) WITH ORDINALITY AS p (v, n) WHERE p.v IS NOT NULL GROUP BY 1, 2"
        ).fetchall()
    return {(name, port): int(ticks) for name, port, ticks in rows}


def test_counters_reach_the_ports_of_the_topology(embedded_db: str, subnet: Subnet) -> None:
    first = subnet.collect(embedded_db)
    assert (first["switches"], first["endpoints"], first["ports"]) == (6, 16, 32)
    assert first["counters"] == 32 * 9 and not first["saturated"] and not first["failed"] and first["seconds"] > 0
    time.sleep(1.1)
    subnet.count(0, 1, PortXmitWait=700)
    subnet.count(5, 2, PortXmitWait=41)
    subnet.collect(embedded_db)
    drain(embedded_db, embedded_db, limit_s=60)
    with connect(embedded_db) as conn:
        names = [row[0] for row in conn.execute("SELECT name FROM router ORDER BY router").fetchall()]
        letters = conn.execute("SELECT reason FROM dead_letter").fetchall()
        flits = conn.execute("SELECT sum(rt_flits) FROM router_1s").fetchone()
    ticks = waited(embedded_db)
    assert len(ticks) == 32 and {at: n for at, n in ticks.items() if n} == {(names[0], 1): 700, (names[5], 2): 41}
    # Questions travel in packets of their own, which the switches count.
    assert letters == [] and flits is not None and flits[0] > 0


def test_a_saturated_counter_is_told_and_counts_nothing(embedded_db: str, subnet: Subnet) -> None:
    """It stands still, which is no silence of the network."""
    subnet.count(0, 1, PortXmitWait=SATURATED)
    for _ in range(2):
        found = subnet.collect(embedded_db)
        assert found["saturated"] == {"PortXmitWait": 1}
        assert "1 ports have a saturated PortXmitWait" in found["said"]
        time.sleep(1.1)
    drain(embedded_db, embedded_db, limit_s=60)
    ticks = waited(embedded_db)
    assert len(ticks) == 31 and not any(ticks.values())


def test_a_saturated_counter_is_cleared_where_the_site_allows_it(embedded_db: str, subnet: Subnet) -> None:
    subnet.count(0, 1, PortXmitWait=SATURATED)
    assert subnet.collect(embedded_db, "--clear-saturated")["saturated"] == {"PortXmitWait": 1}
    assert subnet.collect(embedded_db)["saturated"] == {}


def test_what_does_not_answer_is_told(embedded_db: str, subnet: Subnet) -> None:
    subnet.collect(embedded_db)
    tool = Path(subnet.environment["PATH"].split(":")[0]) / "perfquery"
    text = tool.read_text()
    silent = 'case "$*" in *"-l 2 "*) echo "ibwarn: [7] no answer" >&2; exit 1;; esac\n'
    tool.write_text(text.replace("LD_PRELOAD", f"{silent}LD_PRELOAD", 1))
    found = subnet.collect(embedded_db)
    assert found["failed"] == {"ibwarn: no answer": 1} and found["ports"] < 32
    tool.write_text(text)
    assert subnet.collect(embedded_db)["failed"] == {}


def test_no_tools_no_subnet(embedded_db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flitwatch_domain.errors import MissingDependency, Unavailable
    from flitwatch_ingest.collectors import infiniband

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(infiniband, "_PLACES", ())
    ask: Callable[[], object] = lambda: infiniband.Tools().discover("x")  # noqa: E731
    with pytest.raises(MissingDependency, match="ibnetdiscover is not installed"):
        ask()
    (tmp_path / "ibnetdiscover").write_text("#!/bin/sh\necho 'ibwarn: [3] no port' >&2; exit 1\n")
    (tmp_path / "ibnetdiscover").chmod(0o755)
    with pytest.raises(Unavailable, match="ibnetdiscover failed: ibwarn: no port"):
        ask()
