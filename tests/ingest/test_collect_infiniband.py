"""`flitwatch collect infiniband` against a real OpenSM, ibnetdiscover, libibumad and perfquery over ibsim."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ingest.port_counters import lanes
from ingest.subnet import Subnet
from ingest.writing import drain_log
from noise_core import flow_ibsim

from flitwatch_db import connect
from flitwatch_domain.counters import LANES
from flitwatch_domain.generators import build_xgft
from flitwatch_ingest.sources import perfquery

pytestmark = [pytest.mark.system("schedulers"), pytest.mark.integration]

FABRIC = build_xgft(2, [4, 4], [1, 2])
#: The largest values of some 32-bit counters, and extended counters, as ibsim names them.
NARROW = {"PortXmitData": 2**32, "PortRcvPkts": 2**32, "PortXmitWait": 2**32, "SymbolErrorCounter": 2**16}
NARROW |= {"VL15Dropped": 2**16, "PortXmitConstraintErrors": 2**8, "LocalLinkIntegrityErrors": 2**4}
WIDE = ("XmitData", "RcvData", "XmitPkts", "RcvPkts", "UnicastXmitPkts", "UnicastRcvPkts", "MultiCastXmitPkts")
SATURATED = 0xFFFFFFFF


@pytest.fixture(params=["libibumad", "perfquery"])
def subnet(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Subnet]:
    """Read by libibumad in the collector's process, and by perfquery where that reaches no adapter."""
    flow_ibsim.require()
    found = Subnet(tmp_path, FABRIC)
    found.by_library = request.param == "libibumad"
    yield found
    found.close()


def waited(url: str) -> dict[tuple[str, int], int]:
    """Stalls by switch and port, in times of a word: two a tick."""
    with connect(url) as conn:
        rows = conn.execute(
            "SELECT name, p.n - 1, sum(p.v)::bigint FROM port_10s JOIN router USING (fabric_id, router),"
            " unnest(stall_cycles) WITH ORDINALITY AS p (v, n) WHERE p.v IS NOT NULL GROUP BY 1, 2"
        ).fetchall()
    return {(name, port): int(ticks) for name, port, ticks in rows}


def test_counters_reach_the_ports_of_the_topology(embedded_db: str, subnet: Subnet) -> None:
    first = subnet.collect(embedded_db)
    assert (first["switches"], first["endpoints"], first["ports"]) == (6, 16, 32)
    assert first["asked_by"] == ("libibumad" if subnet.by_library else "perfquery")
    assert ("using the slower perfquery" in first["said"]) is not subnet.by_library
    assert first["counters"] == 32 * 9 and not first["saturated"] and not first["failed"] and first["seconds"] > 0
    time.sleep(1.1)
    subnet.count(0, 1, PortXmitWait=700)
    subnet.count(5, 2, PortXmitWait=41)
    subnet.collect(embedded_db)
    drain_log(embedded_db, embedded_db, limit_s=60)
    with connect(embedded_db) as conn:
        names = [row[0] for row in conn.execute("SELECT name FROM router ORDER BY router").fetchall()]
        letters = conn.execute("SELECT reason FROM dead_letter").fetchall()
        flits = conn.execute("SELECT sum(rt_flits) FROM router_1s").fetchone()
    ticks = waited(embedded_db)
    assert len(ticks) == 32 and {at: n for at, n in ticks.items() if n} == {
        (names[0], 1): 2 * 700,
        (names[5], 2): 2 * 41,
    }
    # Questions travel in packets of their own, which the switches count.
    assert letters == [] and flits is not None and flits[0] > 0


def test_a_saturated_counter_is_reported_and_counts_nothing(embedded_db: str, subnet: Subnet) -> None:
    """It stands still, which is no silence of the network."""
    subnet.count(0, 1, PortXmitWait=SATURATED)
    for _ in range(2):
        found = subnet.collect(embedded_db)
        assert found["saturated"] == {"PortXmitWait": 1}
        assert "1 ports have a saturated PortXmitWait" in found["said"]
        time.sleep(1.1)
    drain_log(embedded_db, embedded_db, limit_s=60)
    ticks = waited(embedded_db)
    assert len(ticks) == 31 and not any(ticks.values())


def test_a_saturated_counter_is_cleared_where_the_site_allows_it(embedded_db: str, subnet: Subnet) -> None:
    subnet.count(0, 1, PortXmitWait=SATURATED)
    assert subnet.collect(embedded_db, "--clear-saturated")["saturated"] == {"PortXmitWait": 1}
    assert subnet.collect(embedded_db)["saturated"] == {}


def test_waits_by_virtual_lane_reach_their_port(embedded_db: str, subnet: Subnet) -> None:
    """ibsim counts waits by lane and, as many devices, nothing by service level."""
    wait = "PortVLXmitWaitCounters"
    first = subnet.collect(embedded_db, "--lanes", "--adapters")
    assert first["lanes"] == 48 * LANES and not first["failed"] and not first["saturated"]
    time.sleep(1.1)
    planted = {(subnet.switches[0], 1): {f"{wait}3": 700, f"{wait}15": 9}, (subnet.adapters[5], 1): {f"{wait}0": 41}}
    subnet.set_counters(planted, wait)
    subnet.collect(embedded_db, "--lanes", "--adapters")
    drain_log(embedded_db, embedded_db, limit_s=60)
    ports, own = (lanes(embedded_db, f"{device}_lane_1h", "stall_cycles") for device in ("router", "endpoint"))
    assert len(ports) == 32 * LANES and {at[1:]: n for at, n in ports.items() if n} == {(1, 3): 2 * 700, (1, 15): 2 * 9}
    assert len(own) == 16 * LANES and {at[1:]: n for at, n in own.items() if n} == {(0, 0): 2 * 41}
    assert lanes(embedded_db, "router_lane_1h", "sl_flits") == {}


def test_a_saturated_lane_is_reported_and_its_port_s_waits_left_out(embedded_db: str, subnet: Subnet) -> None:
    wait = "PortVLXmitWaitCounters"
    subnet.set_counters({(subnet.switches[0], 1): {f"{wait}3": 0xFFFF}}, wait)
    found = subnet.collect(embedded_db, "--lanes")
    assert found["saturated"] == {"PortVLXmitWait3": 1} and found["lanes"] == 31 * LANES
    assert found["counters"] == 32 * 9


def test_words_by_service_level_are_read_as_perfquery_prints_them() -> None:
    """Names as libibmad writes them; a counter at its largest value counts no more."""
    text = "# PortXmitDataSL counters: Lid 6 port 12\nPortSelect:......................12\nCounterSelect:...................0x0000\n"
    text += "".join(f"{f'XmtDataSL{level}:':.<33}{level * 1000 + 5}\n" for level in range(LANES))
    found = perfquery.parse_ports(text)
    assert found == {12: {f"XmtDataSL{level}": level * 1000 + 5 for level in range(LANES)}}
    assert perfquery.find_saturated(found[12] | {"XmtDataSL9": 0xFFFFFFFF}) == {"XmtDataSL9"}


@pytest.mark.parametrize("subnet", ["libibumad"], indirect=True)
def test_both_ways_read_the_same(embedded_db: str, subnet: Subnet) -> None:
    """Bit by bit: every counter of the library lies between perfquery's before and after, which are equal but for the questions' own traffic."""
    ports = [(switch, port) for switch in subnet.switches for port in (1, 2, 3)]
    subnet.set_counters({at: {name: most - 7 for name, most in NARROW.items()} for at in ports})
    wide = {at: {f"Port{name}": (n << 40) + n for n, name in enumerate(WIDE)} for at in ports}
    subnet.set_counters(wide, "PortCountersExtended")
    waits = {at: {f"PortVLXmitWaitCounters{lane}": 60_000 + lane + at[1] for lane in range(LANES)} for at in ports}
    subnet.set_counters(waits, "PortVLXmitWaitCounters")
    script = str(Path(__file__).parent / "subnet_reader.py")
    before, found, after = (json.loads(subnet.inside(sys.executable, script, way)) for way in ("tools", "", "tools"))
    assert found.keys() == before.keys() == after.keys() and len(found) == 32 * (8 + 17 + LANES)
    assert all(before[counter] <= found[counter] <= after[counter] for counter in found)
    moving = {counter.rpartition(" ")[2] for counter in found if before[counter] != after[counter]}
    assert moving <= {"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"}
    still = [counter for counter in found if before[counter] == after[counter] and found[counter]]
    assert len(still) > 32 * LANES / 2


@pytest.mark.parametrize("subnet", ["libibumad"], indirect=True)
def test_an_agent_that_is_silent_is_named(embedded_db: str, subnet: Subnet) -> None:
    """The simulator drops questions for its abilities; the rest of the subnet is read."""
    subnet.command(f'Error "{subnet.switches[2]}" 100 1')
    found = subnet.collect(embedded_db)
    assert found["asked_by"] == "libibumad" and list(found["failed"].values()) == [1]
    assert len(found["unanswered"]) == 1 and found["unanswered"][0] in found["said"]
    assert found["devices"] == 6 and 0 < found["ports"] < 32
    subnet.command(f'Error "{subnet.switches[2]}" 0 1')
    again = subnet.collect(embedded_db)
    assert again["ports"] == 32 and not again["failed"] and not again["unanswered"]


@pytest.mark.parametrize("subnet", ["perfquery"], indirect=True)
def test_what_does_not_answer_is_reported(embedded_db: str, subnet: Subnet) -> None:
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
