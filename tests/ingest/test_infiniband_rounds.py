"""Output of perfquery, and counters at their maximum."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from flitwatch_domain.errors import BadInput, Unavailable
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.heartbeat import Heartbeat
from flitwatch_ingest.collectors import umad
from flitwatch_ingest.collectors.infiniband import InfinibandCollector, Tools
from flitwatch_ingest.sources import perfquery

TWO_PORTS = """\
# Port counters: Lid 2 port 1 (CapMask: 0x1300)
PortSelect:......................1
CounterSelect:...................0x0000
SymbolErrorCounter:..............65535
PortXmitData:....................4294967295
PortXmitWait:....................4294967295
# Port counters: Lid 2 port 36 (CapMask: 0x1300)
PortSelect:......................36
PortXmitData:....................4294967294
PortXmitWait:....................17
ibwarn: [874] mad_rpc: _do_madrpc failed; dport (Lid 2)
"""


def test_every_port_has_its_counters() -> None:
    found = perfquery.parse_ports(TWO_PORTS)
    assert found[36] == {"PortXmitData": 4294967294, "PortXmitWait": 17}
    assert perfquery.find_saturated(found[1]) == {"SymbolErrorCounter", "PortXmitData", "PortXmitWait"}
    assert perfquery.find_saturated(found[36]) == set()
    assert perfquery.parse_ports("") == perfquery.parse_ports("perfquery: iberror: failed: perfquery\n") == {}


def test_what_a_device_does_not_count_is_left_out() -> None:
    """Without the capability perfquery prints 0 waits; and libibmad reads QP1Dropped where VL15Dropped stands."""
    counted = perfquery.parse_ports(TWO_PORTS.replace("0x1300", "0x0300") + "QP1Dropped:......................7\n")
    assert counted[36] == {"PortXmitData": 4294967294}
    wide = "# Port extended counters: Lid 2 port 1 (CapMask: 0x0300 CapMask2: 0x0000002)\nPortXmitWait:...5\n"
    assert perfquery.parse_ports(wide) == {1: {"PortXmitWait": 5}}


def test_captures_of_real_switches(shared: Path) -> None:
    folder = shared / "samples" / "doors" / "infiniband_exporter"
    captures = [perfquery.parse_ports(path.read_text()) for path in sorted(folder.glob("perfquery_*.out"))]
    assert all(captures)
    for found in captures:
        assert all({"PortXmitData", "PortRcvData"} <= counted.keys() for counted in found.values())


# A collector of an InfiniBand subnet goes on reading ports while the topology cannot be read anew.


class Subnet(Tools):
    """The answers of a subnet whose second discovery finds nobody and whose third is garbled."""

    def __init__(self) -> None:
        super().__init__()
        fabric = build_xgft(2, [2, 2], [1, 2])
        lids = {"switch_lids": [1 + r for r in range(len(fabric.routers))], "lids": [], "adapter_ports": []}
        object.__setattr__(self, "fabric", replace(fabric, attributes={**fabric.attributes, **lids}))
        object.__setattr__(self, "asked", [])

    def discover(self, name: str) -> Fabric:
        self.asked.append(name)  # type: ignore[attr-defined]
        match len(self.asked):  # type: ignore[attr-defined]
            case 2:
                raise Unavailable("ibnetdiscover failed")
            case 3:
                raise BadInput("line 7 is no switch")
        return cast(Fabric, self.fabric)  # type: ignore[attr-defined]

    def port(self) -> umad.Port:
        raise Unavailable("no adapter")

    def counters(self, lid: int, ports: Any, extended: bool) -> Any:
        return {port: {"PortXmitData": 1, "PortXmitWait": 2} for port in ports}, ""


class Log:
    """Counts what is published by round."""

    def __init__(self, rounds: int, stop: threading.Event) -> None:
        self.heartbeat, self.published, self.rounds, self._most, self._stop = Heartbeat(), 0, [], rounds, stop

    def publish(self, *_: object, **__: object) -> None:
        self.published += 1

    def flush(self) -> None:
        self.rounds.append(self.published)
        if len(self.rounds) == self._most:
            self._stop.set()


def test_ports_are_read_while_the_topology_cannot_be() -> None:
    stop = threading.Event()
    said: list[str] = []
    stored: list[Fabric] = []
    log = Log(4, stop)
    subnet = Subnet()
    InfinibandCollector(subnet, cast(Any, log), "ib").run(stop, 0.01, 0.0, said.append, stored.append)
    assert len(log.rounds) == 4 and log.rounds[0] > 0
    assert [late - early for early, late in zip([0, *log.rounds], log.rounds, strict=False)] == [log.rounds[0]] * 4
    assert [text for text in said if "topology" in text] == [
        "waiting for the subnet's topology: ibnetdiscover failed",
        "waiting for the subnet's topology: line 7 is no switch",
    ]
    assert said.count("using the slower perfquery: no adapter") == 1
    assert len(stored) == 2


def test_without_the_library_perfquery_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    log = Log(1, stop)
    subnet = Subnet()
    monkeypatch.setattr(Subnet, "port", Tools.port)
    monkeypatch.setattr(umad, "LIBRARY", "libibumad.so.0")
    found = InfinibandCollector(subnet, cast(Any, log), "ib").read(subnet.discover("ib"))
    assert found.asked_by == "perfquery" and found.slow.startswith("libibumad cannot be loaded: libibumad.so.0")
    assert found.ports == 12 and found.devices == 4 and not found.failed
