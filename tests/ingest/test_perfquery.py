"""What perfquery prints, and counters that stand at their largest value."""

from __future__ import annotations

from pathlib import Path

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
