"""Packets over the imported cable lists of Theta and Edison."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.secret_file import LocalText
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research import topologies
from flitwatch_research.packet.run import PacketRun, run_simulation
from flitwatch_research.papers_routes.convergence import main

WIRING = Path("data") / "cray-wiring"


def longest_way_within_a_group(fabric: Fabric) -> int:
    """Most cables between two routers of a group, by the shortest ways inside it; every router of a group reaches all others."""
    links, group = fabric.links, np.asarray(fabric.routers.group)
    between = fabric.router_links()
    src, dst = links.src[between], links.dst[between]
    inside = group[src] == group[dst]
    cables = coo_array((np.ones(inside.sum()), (src[inside], dst[inside])), shape=(group.size, group.size))
    ways = shortest_path(cables.tocsr(), unweighted=True)
    return int(ways[group[:, None] == group[None, :]].max())


@pytest.mark.system("numeric")
@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "endpoints"), [("theta.interconnect", 3456), ("links-edison.txt", 5760)], ids=["theta", "edison"]
)
def test_packets_cross_real_wiring_within_its_diameter(shared: Path, tmp_path: Path, file: str, endpoints: int) -> None:
    topology = LocalText(f"file:{shared / WIRING / file}")
    fabric = fabric_of(topology)
    within = longest_way_within_a_group(fabric)
    assert within == 2
    # Routers on the longest way. Minimal: one cable between groups (any, not the nearest), so the graph's own diameter is shorter. Non-minimal:
    # two of them, and one cable more where a packet is turned away after its first hop.
    most = {"minimal": 2 * within + 2, "adaptive0": 3 * within + 4}
    mean = {}
    for routing, routers in most.items():
        answer = run_simulation(
            PacketRun(topology, routing, "uniform", 8192, seed=3, links_csv=str(tmp_path / "links.csv")),
        )
        assert answer["conserved"], answer
        assert answer["delivered_bytes"] == 8192 * endpoints
        assert len(answer["packets_of_hops"]) - 1 <= routers
        assert sum(answer["packets_of_hops"]) == 4 * endpoints  # packets of 2 KiB
        mean[routing] = answer["mean_hops"]
    assert within + 1 < mean["minimal"] <= most["minimal"]
    assert mean["minimal"] < mean["adaptive0"] <= most["adaptive0"]


# Topologies by name: what the core cannot hold is refused before anything is built.


@pytest.mark.parametrize(
    ("spec", "ports"),
    [("xgft:1;100000;1", "100,000"), ("xgft:2;40000,2;1,40000", "80,000"), ("xgft:1;40000;1;2", "80,000")],
)
def test_a_switch_with_more_ports_than_can_be_numbered_is_refused(spec: str, ports: str) -> None:
    with pytest.raises(BadRequest, match=rf"a switch with {ports} ports, more than 65,535"):
        topologies.parse_topology(spec)


def test_the_largest_switch_has_all_its_ports() -> None:
    assert topologies.parse_topology("xgft:1;65535;1").kind == "xgft"


# Curves of figures 4.11 and 4.12: the error falls to what was sent, and a curve is kept alongside those of other devices.


def test_the_error_falls_to_what_is_sent_and_curves_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "curves.json"
    given = ["--case", "bisection", "--topology", "xgft:3;4,4,4;1,2,2", "--limit", "20", "--out", str(out)]
    for name in ("one", "other", "one"):
        assert main([*given, "--called", name]) == 0
    kept = json.loads(out.read_text())
    assert [one["device"] for one in kept] == ["other", "one"]
    for point in kept:
        assert len(point["seconds"]) == len(point["iterations"]) == len(point["error"]) > 0
        assert point["converged"] and point["error"][-1] < 1e-3 and point["error"][-1] <= point["error"][0]
        assert point["settled"]["error"] < 1e-3
