"""Congestion control at the NICs and packet spraying, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.generators import build_xgft
from flitwatch_simulation.packet.machine import build_machine

#: Leaves of four nodes, each with a cable to each of four spines: what a leaf takes in is four times what a node does.
LEAVES, NODES = 9, 4
TREE = build_xgft(2, [NODES, LEAVES], [1, 4])
PACKET = 2048


def sends(rows: list[tuple[int, int, int]], mode: packet.TreeMode = packet.TreeMode.RANDOM) -> packet.Workload:
    """All at once: one send and one receive a row (source, destination, bytes)."""
    count = len(rows)
    kinds = np.repeat([packet.OpKind.SEND, packet.OpKind.RECEIVE], count).astype(np.uint8)
    ranks = np.array([row[0] for row in rows] + [row[1] for row in rows], np.uint32)
    match = np.concatenate([np.arange(count, 2 * count), np.full(count, packet.NO_LINK)]).astype(np.uint32)
    amount = np.array([row[2] for row in rows] * 2, np.uint64)
    ends = LEAVES * NODES
    ops = packet.Ops(
        kinds, ranks, match, amount, np.zeros(2 * count + 1, np.uint32), np.zeros(0, np.uint32),
        np.arange(ends, dtype=np.uint32), np.zeros(ends, np.uint8),
    )  # fmt: skip
    return packet.Workload(ops=ops, default_mode=mode)


def times_s(
    rows: list[tuple[int, int, int]], congestion: object = None, routing: str = "spray"
) -> tuple[np.ndarray, packet.Result]:
    machine = build_machine(TREE, routing, packet_bytes=PACKET)
    result = machine.core.run(sends(rows, packet.TreeMode(machine.mode)), packet_bytes=PACKET, congestion=congestion)  # type: ignore[arg-type]
    assert result.conserved, result.violations
    assert result.delivered_bytes == sum(row[2] for row in rows)
    return np.asarray(result.raw["send_ps"])[: len(rows)] / 1e12, result


def line_s(size: int) -> float:
    return size / build_machine(TREE, "ftree", packet_bytes=PACKET).terminal_bytes_per_s


def incast(senders: int, size: int) -> list[tuple[int, int, int]]:
    """One node of each of so many leaves sends to node 0."""
    return [(NODES * leaf, 0, size) for leaf in range(1, senders + 1)]


SIZE = 2_000_000
VICTIM = (NODES + 1, NODES * 5 + 2, SIZE)
BACK_PRESSURE = packet.PairBackPressure(threshold_bytes=16384, window_bytes=65536)


def test_a_pair_alone_has_the_line() -> None:
    for congestion in (None, BACK_PRESSURE, packet.Dcqcn()):
        found, _ = times_s([VICTIM], congestion)
        assert found[0] == pytest.approx(line_s(SIZE), rel=0.01)


def test_back_pressure_by_pair_holds_back_who_congests_and_nobody_else() -> None:
    """Eight send to one: they need eight times the line's time. A pair beside them that shares links with one of them needs one; without control its packets
    stand among theirs, in buffers that give way at the endpoint's pace."""
    rows = [*incast(8, SIZE), VICTIM]
    without, _ = times_s(rows)
    held, result = times_s(rows, BACK_PRESSURE)
    for found in (without, held):
        assert found[:8].max() == pytest.approx(8 * line_s(SIZE), rel=0.02)
    assert without[8] > 3 * line_s(SIZE)
    assert held[8] == pytest.approx(line_s(SIZE), rel=0.1)
    assert result.latency_ns["p99"] > 0


def test_held_back_pairs_share_evenly() -> None:
    held, _ = times_s(incast(8, SIZE), BACK_PRESSURE)
    assert held.min() == pytest.approx(8 * line_s(SIZE), rel=0.1)


def test_dcqcn_keeps_the_queue_short_and_the_bottleneck_busy() -> None:
    """Two send to one. Without control the queue is all that buffers hold; with it marks begin at kmin, and the bottleneck stays nearly full."""
    size, marks = 20_000_000, packet.Dcqcn(kmin_bytes=5_000, kmax_bytes=100_000, pmax=0.1)
    without, free = times_s(incast(2, size))
    found, result = times_s(incast(2, size), marks)
    assert without.max() == pytest.approx(2 * line_s(size), rel=0.01)
    assert 2 * line_s(size) <= found.max() < 1.5 * 2 * line_s(size)
    assert result.latency_ns["p50"] < 0.5 * free.latency_ns["p50"]


def test_dcqcn_that_never_marks_is_no_control() -> None:
    never = packet.Dcqcn(kmin_bytes=2**30, kmax_bytes=2**31 - 1)
    assert times_s(incast(4, SIZE), never)[0].max() == pytest.approx(times_s(incast(4, SIZE))[0].max(), rel=0.01)


def test_spraying_spreads_each_packet_evenly_over_the_ways_up() -> None:
    """One pair over four spines: packets of a link are binomial with p = 1/4, and by one static way all of them go one way."""
    rows = [(NODES, 0, 4000 * PACKET)]
    up = np.flatnonzero((TREE.links.src == TREE.endpoints.router[NODES]) & (TREE.links.dst < len(TREE.routers)))
    _, sprayed = times_s(rows)
    counts = np.asarray(sprayed.link_bytes)[up] / PACKET
    assert counts.sum() == 4000 and np.abs(counts - 1000).max() < 5 * np.sqrt(4000 * 0.25 * 0.75)
    _, static = times_s(rows, routing="ftree")
    assert sorted(np.asarray(static.link_bytes)[up] / PACKET) == [0, 0, 0, 4000]


@pytest.mark.parametrize(
    "how", [{"nic_protocol": True}, {"sampling": True}, {"engine": packet.EngineKind.ORACLE_OLDEST_FIRST}]
)
def test_what_control_does_not_go_with_is_refused(how: dict) -> None:
    machine = build_machine(TREE, "ftree", packet_bytes=PACKET)
    with pytest.raises(ValueError, match="congestion control"):
        machine.core.run(sends([VICTIM]), packet_bytes=PACKET, congestion=BACK_PRESSURE, **how)


@pytest.mark.parametrize("wrong", [packet.Dcqcn(kmin_bytes=9, kmax_bytes=9), packet.Dcqcn(g=0), packet.Dcqcn(cnp_us=0), packet.PairBackPressure(window_bytes=0)])  # fmt: skip
def test_parameters_that_cannot_be(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"kmin_bytes|above 0|starts at"):
        build_machine(TREE, "ftree", packet_bytes=PACKET).core.run(
            sends([VICTIM]), packet_bytes=PACKET, congestion=wrong
        )  # type: ignore[arg-type]
