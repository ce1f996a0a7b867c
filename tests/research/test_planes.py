"""Multi-plane fat trees in both engines against closed forms: traffic by plane, and times."""

from __future__ import annotations

import numpy as np
import pytest

from flitwatch_core import packet
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research import topologies
from flitwatch_research.routings import routes_of
from flitwatch_simulation.packet.machine import Machine, build_machine

SPEC, PLANES, NODES, LEAF_NODES = "planes:4;2;4,3;1,4", 4, 12, 4
ENDS = PLANES * NODES


def sent(machine: Machine, flows: list[tuple[int, int, int]]) -> packet.Result:
    src, dst, size = (np.array(column) for column in zip(*flows, strict=True))
    result = machine.core.run(packet.Workload(flows=(src, dst, size), default_mode=machine.mode))
    assert result.conserved, result.violations
    return result


def plane_of_links(fabric: Fabric) -> np.ndarray:
    """The plane whose switch each link enters, -1 elsewhere."""
    group = np.append(fabric.routers.group, np.full(len(fabric.endpoints), -1))
    return group[fabric.links.dst]


def test_both_engines_travel_the_distances_of_a_plane_and_two_links_more() -> None:
    description = topologies.describe_topology(topologies.parse_topology(SPEC))
    # Within the node two links, within the leaf four, elsewhere six.
    within, near = PLANES - 1, PLANES * (LEAF_NODES - 1)
    far = ENDS - 1 - within - near
    assert description["mean_hops"] == pytest.approx((2 * within + 4 * near + 6 * far) / (ENDS - 1))
    assert (description["endpoints"], description["diameter"], description["unreachable_pairs"]) == (ENDS, 6, 0)
    everyone = [(a, b, 2048) for a in range(ENDS) for b in range(ENDS) if a != b]
    for routing in ("ftree", "hw-adaptive"):
        result = sent(build_machine(fabric_of(SPEC), routing), everyone)
        assert list(result.packets_of_hops)[1:6] == [ENDS * within, 0, ENDS * near, 0, ENDS * far]


def test_routes_by_destination_take_the_plane_of_the_destinations_nic() -> None:
    fabric, size = fabric_of(SPEC), 20_480
    machine = build_machine(fabric, "ftree")
    plane = plane_of_links(machine.fabric)
    for nic in range(PLANES):
        # From every NIC of node 0 to NIC `nic` of a node at another leaf.
        flows = [(one, (NODES - 1) * PLANES + nic, size) for one in range(PLANES)]
        carried = np.asarray(sent(machine, flows).link_bytes)
        # The plane's leaf, a spine, the other leaf: three switches are entered.
        assert [carried[plane == one].sum() for one in range(PLANES)] == [
            3 * PLANES * size if one == nic else 0 for one in range(PLANES)
        ]


def test_one_nic_of_a_node_waits_and_all_of_them_do_not() -> None:
    size, machine = 4_000_000, build_machine(fabric_of(SPEC), "ftree")
    line_s = size / machine.terminal_bytes_per_s
    other = 5 * PLANES
    own = [(nic, other + nic, size) for nic in range(PLANES)]
    one = [(nic, other, size) for nic in range(PLANES)]
    assert sent(machine, own).time_s == pytest.approx(line_s, rel=0.01)
    assert sent(machine, one).time_s == pytest.approx(PLANES * line_s, rel=0.01)


def test_packets_sprayed_over_planes_lie_evenly_on_them() -> None:
    machine = build_machine(fabric_of(SPEC), "spray")
    carried = np.asarray(sent(machine, [(0, ENDS - 1, 2048 * 4000)]).link_bytes)
    plane = plane_of_links(machine.fabric)
    shares = [carried[plane == one].sum() / carried[plane >= 0].sum() for one in range(PLANES)]
    # 4,000 packets in four parts: five standard deviations of a part are 137 packets.
    assert shares == pytest.approx([1 / PLANES] * PLANES, abs=137 / 4000)


def test_flows_by_destination_take_the_same_planes() -> None:
    named = topologies.parse_topology(SPEC)
    routes = routes_of(named)
    entered = np.append(fabric_of(SPEC).routers.group, np.full(ENDS, -1))[named.core.dst]
    assert routes.name == "ftree"
    for src in range(ENDS):
        for dst in range(ENDS):
            if src // PLANES != dst // PLANES:
                assert set(entered[routes.links_of(src, dst)].tolist()) - {-1} == {dst % PLANES}


@pytest.mark.parametrize("spec", ["slingshot", "dragonfly:3,2,4"])
def test_flows_take_dragonflies_too(spec: str) -> None:
    description, fabric = topologies.describe_topology(topologies.parse_topology(spec)), fabric_of(spec)
    ends = len(fabric.endpoints)
    assert (description["kind"], description["endpoints"], description["unreachable_pairs"]) == ("dragonfly", ends, 0)
    assert routes_of(topologies.parse_topology(spec)).name == "minimal"
