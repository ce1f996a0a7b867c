"""Collectives of machine learning against closed forms of an idle network: rounds times the time of one message, and the bytes that leave a node."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_simulation.packet.machine import Machine, build_machine
from flitwatch_simulation.workloads import patterns
from flitwatch_simulation.workloads.messages import to_ops

MB = 1_000_000


@pytest.fixture(scope="module")
def star() -> Machine:
    """One switch, on which only the endpoints' own links are shared."""
    return build_machine(fabric_of("xgft:1;32;1"), "ftree")


def took(machine: Machine, name: str, ranks: int, size: int) -> float:
    made = patterns.make_pattern(name, ranks, size)
    result = machine.core.run(packet.Workload(ops=to_ops([(made, np.arange(ranks))])))
    assert result.conserved and result.delivered_bytes == made.total_bytes, result.violations
    return float(result.time_s)


def message_s(machine: Machine, size: int) -> float:
    """One message from one endpoint to another, nothing else on the way."""
    return float(machine.core.run(packet.Workload(flows=([0], [1], [size]))).time_s)


@pytest.mark.parametrize("ranks", [2, 3, 8, 24])
def test_a_ring_takes_twice_as_many_rounds_as_others_are_there(star: Machine, ranks: int) -> None:
    piece = MB // (2 * (ranks - 1))
    assert took(star, "ring-allreduce", ranks, MB) == pytest.approx(2 * (ranks - 1) * message_s(star, piece), rel=0.01)


@pytest.mark.parametrize("ranks", [2, 4, 16, 32])
def test_a_tree_takes_whole_vectors_up_and_down(star: Machine, ranks: int) -> None:
    vector = round(MB * ranks / (2 * (ranks - 1)))
    levels = ranks.bit_length() - 1
    assert took(star, "tree-allreduce", ranks, MB) == pytest.approx(2 * levels * message_s(star, vector), rel=0.01)


@pytest.mark.parametrize("ranks", [3, 5, 13])
def test_a_tree_of_any_size_reaches_everybody(ranks: int) -> None:
    made = patterns.make_pattern("tree-allreduce", ranks, MB)
    assert len(made.src) == 2 * (ranks - 1) and made.rounds == 2 * (ranks - 1).bit_length()
    first = made.send_round < made.rounds // 2
    assert sorted(made.src[first].tolist()) == list(range(1, ranks)) == sorted(made.dst[~first].tolist())


@pytest.mark.parametrize(("ranks", "node"), [(16, 8), (32, 8), (12, 6), (8, 8), (7, 7), (22, 2)])
def test_two_levels_send_as_much_as_a_ring_and_little_of_it_between_nodes(star: Machine, ranks: int, node: int) -> None:
    made, nodes = patterns.make_pattern("hierarchical-allreduce", ranks, MB), ranks // node
    small = round(MB / (2 * (ranks - 1)))
    assert made.rounds == 2 * (node - 1) + 2 * (nodes - 1)
    assert (
        made.total_bytes
        == patterns.make_pattern("ring-allreduce", ranks, MB).total_bytes
        == ranks * 2 * (ranks - 1) * small
    )
    leaves = made.size_bytes[made.src // node != made.dst // node].sum()
    assert leaves == made.total_bytes * (nodes - 1) // (ranks - 1)
    expected = 2 * (node - 1) * message_s(star, small * nodes) + 2 * (nodes - 1) * message_s(star, small)
    assert took(star, "hierarchical-allreduce", ranks, MB) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 5, 16])
def test_experts_get_a_part_of_everybody_and_send_it_back(star: Machine, ranks: int) -> None:
    made, part = patterns.make_pattern("expert-alltoall", ranks, MB), round(MB / (2 * (ranks - 1)))
    src, dst, size = made.matrix()
    assert len(src) == ranks * (ranks - 1) and set(size.tolist()) == {2 * part} and (src != dst).all()
    assert took(star, "expert-alltoall", ranks, MB) == pytest.approx(2 * (ranks - 1) * message_s(star, part), rel=0.01)


def test_rails_carry_the_second_level_without_a_spine() -> None:
    """Node n's NIC r is an endpoint of leaf r: between nodes every ring keeps to its rail."""
    machine = build_machine(fabric_of("rails:8,4,1,8"), "ftree")
    made = patterns.make_pattern("hierarchical-allreduce", 32, MB)
    rank = np.arange(32)
    place = rank % 8 * 4 + rank // 8
    between = made.chosen(made.src // 8 != made.dst // 8)
    result = machine.core.run(packet.Workload(ops=to_ops([(between, place)])))
    # Routers on the way: the leaf alone.
    assert result.conserved and list(np.flatnonzero(result.packets_of_hops)) == [1]
