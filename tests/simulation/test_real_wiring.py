"""Packets over the imported cable lists of Theta and Edison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from flitwatch_domain.fabric import Fabric
from flitwatch_domain.local_text import LocalText
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_research.packet.run import PacketRun, run_simulation

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
