"""Which links a packet might have passed."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Endpoints, Fabric, FabricKind, Routers, Technology
from flitwatch_domain.fabric.arrays import both_directions
from flitwatch_domain.generators import build_xgft
from flitwatch_domain.sampling import Reach


def random_fabric(seed: int, routers: int, cables: int) -> Fabric:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, routers, (cables, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    hosts = np.arange(4)
    a = np.concatenate([pairs[:, 0], routers + hosts])
    b = np.concatenate([pairs[:, 1], hosts % routers])
    links = both_directions(a, b, -1, -1, 0, 0, 1e9, ["link"])
    return Fabric(
        "random",
        FabricKind.GRAPH,
        Technology.GENERIC,
        Routers([f"s{i}" for i in range(routers)]),
        Endpoints(hosts % routers),
        links,
    )


@given(st.integers(0, 2**31), st.integers(2, 7), st.integers(1, 14))
def test_candidates_are_the_links_of_all_shortest_ways(seed, routers, cables):
    fabric = random_fabric(seed, routers, cables)
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(fabric.vertices))
    graph.add_edges_from(
        (int(a), int(b), link) for link, (a, b) in enumerate(zip(fabric.links.src, fabric.links.dst, strict=True))
    )
    reach = Reach(fabric)
    for begin in range(4):
        for end in set(range(4)) - {begin}:
            ends = routers + begin, routers + end
            if not networkx.has_path(graph, *ends):
                with pytest.raises(BadInput):
                    reach.candidates(begin, end)
                continue
            ways = networkx.all_shortest_paths(networkx.DiGraph(graph), *ends)
            expected = {key for way in ways for pair in itertools.pairwise(way) for key in graph[pair[0]][pair[1]]}
            assert set(reach.candidates(begin, end).tolist()) == expected
            path = reach.path(begin, end)
            assert set(path) <= expected
            assert len(path) == networkx.shortest_path_length(graph, *ends)


def test_a_detour_widens_the_choice():
    fabric = build_xgft(2, (4, 4), (1, 2))
    reach = Reach(fabric)
    beside = reach.candidates(0, 1)
    assert beside.size == 2
    assert set(beside) < set(reach.candidates(0, 1, detour=2))


def test_more_links_than_names_are_refused():
    hosts = np.zeros(2**15, np.int32)
    fabric = Fabric(
        "large",
        FabricKind.GRAPH,
        Technology.GENERIC,
        Routers(["s"]),
        Endpoints(hosts),
        both_directions(np.arange(1, 2**15 + 1), hosts, -1, -1, 0, 0, 1e9, ["link"]),
    )
    with pytest.raises(BadInput, match="65535"):
        Reach(fabric)
