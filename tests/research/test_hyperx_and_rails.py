"""HyperX and rail-optimised trees in both engines against closed forms: distances, bytes through shared cables, an idle network."""

from __future__ import annotations

from math import comb, prod

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research import topologies
from flitwatch_research.routings import routes_of
from flitwatch_simulation.packet.machine import Machine, build_machine

HYPERX = [((4, 4), 2), ((3, 3, 3), 1), ((8,), 2)]


def sent(machine: Machine, flows: list[tuple[int, int, int]]) -> packet.Result:
    src, dst, size = (np.array(column) for column in zip(*flows, strict=True))
    result = machine.core.run(packet.Workload(flows=(src, dst, size), default_mode=machine.mode))
    assert result.conserved, result.violations
    return result


def everyone(ends: int, size: int = 2048) -> list[tuple[int, int, int]]:
    return [(a, b, size) for a in range(ends) for b in range(ends) if a != b]


@pytest.mark.parametrize(("extents", "ends"), HYPERX)
def test_both_engines_travel_the_distances_of_a_hyperx(extents: tuple[int, ...], ends: int) -> None:
    spec = f"hyperx:{','.join(map(str, extents))};{ends}"
    total = prod(extents) * ends
    apart = sum(1 - 1 / extent for extent in extents) * total / (total - 1)
    description = topologies.describe_topology(topologies.parse_topology(spec))
    assert (description["endpoints"], description["diameter"], description["unreachable_pairs"]) == (
        total,
        len(extents) + 2,
        0,
    )
    assert description["mean_hops"] == pytest.approx(apart + 2)
    result = sent(build_machine(fabric_of(spec), "dor"), everyone(total))
    # Routers that differ in d of equal extents: each of the d wrong places in S - 1 ways.
    side, pairs = extents[0], total * ends
    by_routers = [pairs * comb(len(extents), d) * (side - 1) ** d for d in range(len(extents) + 1)]
    by_routers[0] -= total
    assert list(result.packets_of_hops)[1 : len(extents) + 2] == by_routers


def test_parallel_cables_share_what_one_cannot_carry() -> None:
    size = 4_000_000
    alone, together = (build_machine(fabric_of(f"hyperx:4;3{cables}"), "dor") for cables in ("", ";3"))
    flows = [(end, 3 + end, size) for end in range(3)]
    line_s = size / alone.terminal_bytes_per_s
    assert sent(alone, flows).time_s == pytest.approx(3 * line_s, rel=0.01)
    assert sent(together, flows).time_s == pytest.approx(line_s, rel=0.01)


def test_a_packet_of_an_idle_hyperx_takes_the_same_for_every_dimension_more() -> None:
    machine = build_machine(fabric_of("hyperx:3,3,3;1"), "dor")
    took = [sent(machine, [(0, to, 2048)]).time_s for to in (1, 4, 13)]
    assert took[1] - took[0] == pytest.approx(took[2] - took[1]) and took[1] > took[0]


def test_rails_keep_their_own_traffic_at_the_leaf() -> None:
    spec, nodes, groups = "rails:4,4,3,8", 4, 3
    ends = 4 * nodes * groups
    description = topologies.describe_topology(topologies.parse_topology(spec))
    # A rail of the own group is two links away, everyone else four.
    assert (
        description["mean_hops"] == pytest.approx((2 * (nodes - 1) + 4 * (ends - nodes)) / (ends - 1))
        and description["diameter"] == 4
    )
    for routing in ("ftree", "hw-adaptive"):
        result = sent(build_machine(fabric_of(spec), routing), everyone(ends))
        assert list(result.packets_of_hops)[1:4] == [ends * (nodes - 1), 0, ends * (ends - nodes)]


def test_a_leaf_of_rails_sends_what_its_spines_carry() -> None:
    # One spine for four NICs of a leaf: what leaves the group takes four times as long, what stays on the rail does not.
    size, machine = 4_000_000, build_machine(fabric_of("rails:2,4,2,1"), "ftree")
    line_s = size / machine.terminal_bytes_per_s
    stays = [(0, 1, size), (1, 0, size), (2, 3, size), (3, 2, size)]
    leaves = [(nic, 8 + nic, size) for nic in range(4)]
    assert sent(machine, stays).time_s == pytest.approx(line_s, rel=0.01)
    assert sent(machine, leaves).time_s == pytest.approx(4 * line_s, rel=0.01)


def test_routings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadRequest, match="does not fit a HyperX"):
        build_machine(fabric_of("hyperx:4,4;2"), "ftree")
    with pytest.raises(BadRequest, match="does not fit a tree"):
        build_machine(fabric_of("rails:2,2,2,2"), "dor")
    assert routes_of(topologies.parse_topology("hyperx:4,4;2")).name == "minhop"
