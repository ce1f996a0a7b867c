"""Packets on tori: their links, their times against manual calculations, and refused input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_torus
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_simulation.packet.machine import build_machine

#: Of the engine's torus: a hop without load takes 20 ns on the cable and 85 ns in the router (Gemini, Alverson 2010).
HOP_NS, CABLE_NS = 105.0, 20.0


def flows(rows: list[tuple[int, int, int]], mode: int) -> packet.Workload:
    src, dst, size = np.array(rows, np.int64).T
    return packet.Workload(flows=(src, dst, size), default_mode=mode)


def carried(fabric: Fabric, rows: list[tuple[int, int, int]]) -> dict[tuple[int, int], int]:
    """Bytes between neighbouring routers by the rule: the last coordinate first, the shorter way round, up where both are equal."""
    extents = fabric.attributes["dims"]
    bytes_of: dict[tuple[int, int], int] = {}
    for src, dst, size in rows:
        at, goal = list(np.unravel_index(src, extents)), np.unravel_index(dst, extents)
        for d in reversed(range(len(extents))):
            while at[d] != goal[d]:
                before = int(np.ravel_multi_index(at, extents))
                ahead = (goal[d] - at[d]) % extents[d]
                at[d] = (at[d] + (1 if 2 * ahead <= extents[d] else -1)) % extents[d]
                key = before, int(np.ravel_multi_index(at, extents))
                bytes_of[key] = bytes_of.get(key, 0) + size
    return bytes_of


def between_routers(fabric: Fabric, link_bytes: NDArray[np.uint64]) -> dict[tuple[int, int], int]:
    links, found = fabric.links, {}
    for link in np.flatnonzero(fabric.router_links() & (link_bytes > 0)):
        key = int(links.src[link]), int(links.dst[link])
        found[key] = found.get(key, 0) + int(link_bytes[link])
    return found


@pytest.mark.parametrize("spec", ["torus:7", "torus:4,3,5", "torus:2,6", "torus:1,4,2"])
def test_packets_take_the_links_of_dimension_order(spec: str) -> None:
    machine = build_machine(fabric_of(spec), "dor")
    rng, n = np.random.default_rng(2), machine.endpoints
    rows = [(a, int(b), 1 + 700 * a) for a in range(n) for b in rng.integers(0, n, 4) if a != b]
    result = machine.core.run(flows(rows, machine.mode))
    assert result.conserved, result.violations
    assert between_routers(machine.fabric, result.raw["link_bytes"]) == carried(machine.fabric, rows)
    assert result.raw["non_minimal"] == 0


def test_an_empty_torus_takes_the_time_of_its_hops() -> None:
    machine = build_machine(fabric_of("torus:9,4"), "dor")
    wire_ns = 1000 * 8 / 10  # a packet of 1,000 bytes at 10 Gb/s
    for dst, hops in ((1, 1), (2, 2), (3, 1), (16, 4), (18, 6), (20, 4), (35, 2)):
        result = machine.core.run(flows([(0, dst, 1000)], machine.mode))
        # Its first router, one more a hop, and the last cable; cut through, so the packet's length counts once.
        assert result.latency_ns["max"] == pytest.approx((1 + hops) * HOP_NS + CABLE_NS + wire_ns), dst
        assert result.mean_hops == hops + 1


def test_tornado_traffic_loads_links_as_published() -> None:
    """Dally and Towles 2004: dimension order loads one way round with (k - 1) / 2 flows a link, Valiant's way both with about k / 4."""
    k, size = 15, 400_000
    fabric = build_torus([k])
    loads, times = {}, {}
    for routing in ("dor", "valiant"):
        machine = build_machine(fabric, routing)
        rows = [(a, (a + (k - 1) // 2) % k, size) for a in range(k)]
        result = machine.core.run(flows(rows, machine.mode))
        assert result.conserved, result.violations
        times[routing] = result.time_s
        loads[routing] = np.sort(result.raw["link_bytes"][fabric.router_links()]) / size
    assert loads["dor"].tolist() == [0] * k + [(k - 1) / 2] * k
    assert loads["valiant"].mean() == pytest.approx((k * k - 1) / (4 * k), rel=0.05)
    assert loads["valiant"].max() < 1.15 * loads["valiant"].mean()
    # Short queues cost dimension order about half of its bandwidth here, in the engine and in the oracle.
    assert times["dor"] > (k - 1) / 2 * size * 8 / 10e9
    assert times["valiant"] < 0.6 * times["dor"]


def test_valiant_passes_other_routers_and_counts_so() -> None:
    machine = build_machine(fabric_of("torus:6,6"), "valiant")
    result = machine.core.run(flows([(a, (a + 1) % 36, 60_000) for a in range(36)], machine.mode))
    assert result.conserved, result.violations
    assert result.mean_hops > 6  # 2 routers by dimension order, 7 by a random one on average
    assert result.raw["minimal"] == 0 and result.raw["non_minimal"] == result.packets


@pytest.mark.parametrize("kind", list(packet.EngineKind)[1:])
@pytest.mark.parametrize("routing", ["dor", "valiant"])
def test_the_oracle_moves_the_same_bytes(kind: packet.EngineKind, routing: str) -> None:
    machine = build_machine(fabric_of("torus:5,4"), routing)
    rows = [(a, (a + step) % 20, 30_000) for a in range(20) for step in (1, 7, 10)]
    eager = machine.core.run(flows(rows, machine.mode))
    oracle = machine.core.run(flows(rows, machine.mode), engine=kind)
    assert eager.conserved and oracle.conserved
    assert eager.time_s == pytest.approx(oracle.time_s, rel=0.1)
    if routing == "dor":
        assert np.array_equal(eager.raw["link_bytes"], oracle.raw["link_bytes"])


def test_parallel_cables_and_several_nodes_a_router() -> None:
    fabric = build_torus([4, 3], endpoints_per_router=2)
    doubled = fabric.router_links()
    multiplicity = np.where(doubled, 2, 1).astype(np.int32)
    machine = build_machine(replace(fabric, links=replace(fabric.links, multiplicity=multiplicity)), "dor")
    n = machine.endpoints
    result = machine.core.run(flows([(a, b, 3000) for a in range(n) for b in range(n) if a != b], machine.mode))
    assert result.conserved, result.violations
    assert n == 24 and (result.raw["link_bytes"][machine.fabric.router_links()] > 0).all()


def test_counters_by_channel_lie_before_and_after_the_seam() -> None:
    machine = build_machine(fabric_of("torus:8"), "dor")
    result = machine.core.run(flows([(6, 1, 4096), (1, 3, 4096)], machine.mode))
    by_channel = dict.fromkeys(range(4), 0)
    for vc in by_channel:
        by_channel[vc] = int(result.raw["vc_bytes"][machine.fabric.router_links(), vc].sum())
    # From 6 to the seam two links, one after it; from 1 to 3 two links that need no seam.
    assert by_channel == {0: 2 * 4096, 1: 3 * 4096, 2: 0, 3: 0}


def test_traffic_classes_on_a_torus() -> None:
    machine = build_machine(fabric_of("torus:4,4"), "valiant")
    rows = [(a, (a + 5) % 16, 50_000) for a in range(16)]
    result = machine.core.run(
        flows(rows, machine.mode), classes=[packet.TrafficClass(0.5), packet.TrafficClass(0.5)], class_of_job=[1]
    )
    assert result.conserved and result.delivered_bytes == 16 * 50_000


def test_what_is_no_whole_torus_is_refused() -> None:
    whole = fabric_of("torus:4,3")
    for wrong, why in (
        ("adaptive0", "does not fit a torus"),
        ("ftree", "does not fit a torus"),
    ):
        with pytest.raises(BadRequest, match=why):
            build_machine(whole, wrong)
    with pytest.raises(BadRequest, match="virtual lanes belong to trees"):
        build_machine(whole, "dor", virtual_lanes=2)
    links = whole.links
    keep = ~((links.src == 0) & (links.dst == 1) | (links.src == 1) & (links.dst == 0))
    columns = {
        name: getattr(links, name)[keep]
        for name in ("src", "dst", "src_port", "dst_port", "link_class", "multiplicity", "bandwidth_bps")
    }
    with pytest.raises(
        BadRequest, match="router 0 has no cable up dimension 0: routes in dimension order need a whole"
    ):
        build_machine(replace(whole, links=replace(links, **columns)), "dor")
    with pytest.raises(BadRequest, match="needs the coordinates"):
        routers = whole.routers
        unplaced = replace(whole, routers=type(routers)(routers.name, coords=np.empty((12, 0), np.int32)))
        build_machine(unplaced, "dor")
    with pytest.raises(BadRequest, match="has up to 301 routers"):
        build_machine(fabric_of("torus:300"), "dor")
    for spec in ("torus:", "torus:0,4", "torus:4,x", "torus:9999,9999", "torus:" + ",".join("2" * 9)):
        with pytest.raises(BadRequest):
            fabric_of(spec)
