"""Stalls with the vendors' names against closed forms of small cases of contention, and against the engine's own counts."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.packet.link_counters import vendor_counters
from flitwatch_simulation.packet.machine import Machine, build_machine


def counted(machine: Machine, flows: list[tuple[int, int, int]]) -> tuple[dict[tuple[str, str], int], packet.Result]:
    src, dst, size = (np.array(column) for column in zip(*flows, strict=True))
    result = machine.core.run(packet.Workload(flows=(src, dst, size), default_mode=machine.mode))
    assert result.conserved, result.violations
    rows = list(vendor_counters(machine, result))
    assert len({row[:2] for row in rows}) == len(rows)
    return {(component, name): value for component, name, value in rows}, result


def test_a_packet_that_finds_its_link_taken_stalls_for_one_serialisation() -> None:
    # Two nodes of a router send one packet each to a third at once: one goes through, the other waits at its own tile while the first is sent.
    machine = build_machine(fabric_of("dragonfly:2,2,3,2"), "minimal")
    values, _ = counted(machine, [(0, 2, 2048), (1, 2, 2048)])
    stalls = {key: value for key, value in values.items() if key[1].endswith("ROWBUS_STALL_CNT") and value}
    expected_cycles = 2048 / machine.terminal_bytes_per_s * 800e6
    assert len(stalls) == 1
    (((router, name), cycles),) = stalls.items()
    assert router == machine.fabric.vertex_name(int(machine.fabric.endpoints.router[0]))
    assert name.startswith("AR_RTR_PT_")  # the tile of a node
    assert name.endswith("REQ_ROWBUS_STALL_CNT")
    assert cycles == round(expected_cycles)


def test_a_port_waits_for_the_credit_that_a_shared_link_owes_it() -> None:
    # Three leaves, one spine: two leaves send at line rate to different nodes of the third. Its down link carries one of them at a time, so each
    # up link has a packet ready all the time and stands idle for half of it.
    machine = build_machine(fabric_of("xgft:2;2,3;1,1"), "ftree")
    size = 8_000_000
    values, result = counted(machine, [(0, 2, size), (4, 3, size)])
    sending_ns = size / machine.terminal_bytes_per_s * 1e9
    waits = {key[0]: value for key, value in values.items() if key[1] == "PortXmitWait" and value}
    assert len(waits) == 2
    assert all(wait == pytest.approx(sending_ns, rel=0.03) for wait in waits.values())  # but for one buffer, 64 KiB
    assert result.time_s * 1e9 == pytest.approx(2 * sending_ns, rel=0.03)
    for port in waits:
        assert values[port, "PortXmitData"] == size // 4
        assert values[port, "PortXmitPkts"] == values[port, "PortXmitPktsVL0"] == -(-size // 2048)


def test_no_contest_no_stall() -> None:
    # On a dragonfly two nodes of one router: its other links are slower than a node's.
    for spec, routing, to in (("dragonfly:2,2,3,2", "minimal", 3), ("xgft:2;2,3;1,1", "ftree", 5)):
        values, _ = counted(build_machine(fabric_of(spec), routing), [(0, to, 400_000)])
        names = ("STALL_CNT", "XmitWait", "STALLED")
        assert not {key: value for key, value in values.items() if key[1].endswith(names) and value}


@pytest.mark.parametrize("seed", [1, 7])
def test_stalls_of_all_tiles_and_nics_are_the_engines_own(seed: int) -> None:
    machine = build_machine(fabric_of("dragonfly:3,2,4,4"), "adaptive1", packet_bytes=64, nic_protocol=True)
    order = np.random.default_rng(seed).permutation(
        machine.endpoints
    )  # a node outruns its router's links: back-pressure
    flows = (order, np.roll(order, 1), np.full(order.size, 64_000))
    workload = packet.Workload(flows=flows, default_mode=machine.mode)
    result = machine.core.run(workload, packet_bytes=64, nic_protocol=True, seed=seed)
    assert result.conserved, result.violations
    rows = list(vendor_counters(machine, result))

    def cycles(ending: str) -> int:
        return sum(value for _, name, value in rows if name.endswith(ending))

    links, raw = machine.fabric.links, result.raw
    tiles = (links.dst < len(machine.fabric.routers)) & (links.dst_port >= 0)
    stalled = raw["vc_stall_ps"][tiles].sum() * 0.8e-3  # ps at 800 MHz
    assert stalled > 1e5
    assert abs(cycles("ROWBUS_STALL_CNT") - stalled) <= 0.5 * tiles.sum()  # each tile is rounded
    waited = raw["nic_stalled_ps"].sum() * 0.8e-3
    assert waited > 1e3
    assert abs(cycles("CNTR_REQ_STALLED") - waited) <= 0.5 * machine.endpoints
    assert cycles("CNTR_REQ_FLITS") == raw["nic_request_flits"].sum()
    assert cycles("CNTR_REQ_PKTS") == cycles("CNTR_RSP_NET_TRACK") == raw["nic_responses"].sum()
