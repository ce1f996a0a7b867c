"""Multi-plane fat trees against closed forms: each plane is the tree of its sizes, and nothing but nodes joins two."""

from __future__ import annotations

from math import prod

import networkx as nx
import numpy as np
import pytest
from domain.sound_fabrics import assert_sound, graph

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import FabricKind, endpoint_finder
from flitwatch_domain.generators import build_planes, build_xgft
from flitwatch_domain.task_models.node_counts import nodes_of
from flitwatch_domain.topology_spec import fabric_of

SIZES = [
    (1, [4], [1], None),
    (2, [4], [1], None),
    (4, [4, 3], [1, 4], None),
    (3, [2, 2, 3], [1, 2, 2], None),
    (2, [4, 4], [1, 2], [1, 1.5]),
]


def switches_of_planes(net: nx.MultiDiGraph, nodes: int, routers: int) -> list[set[int]]:
    return [set(one) for one in nx.weakly_connected_components(net.subgraph(range(nodes, routers)))]


@pytest.mark.parametrize(("count", "m", "w", "p"), SIZES)
def test_each_plane_is_the_tree_of_its_sizes_and_shares_nothing_but_nodes(
    count: int, m: list[int], w: list[int], p: list[float] | None
) -> None:
    h, nodes = len(m), prod(m)
    fabric, one = build_planes(count, h, m, w, p), build_xgft(h, m, w, p)
    assert_sound(fabric)
    assert fabric.kind is FabricKind.FAT_TREE
    assert len(fabric.routers) == nodes + count * len(one.routers) and len(fabric.endpoints) == count * nodes
    # A node's accelerators have two links each beside those of the plane's own tree, whose terminals are the node's NICs.
    assert len(fabric.links) == count * (len(one.links) + 2 * nodes)
    net, routers = graph(fabric), len(fabric.routers)
    parts = switches_of_planes(net, nodes, routers)
    alone = graph(one).subgraph(range(len(one.routers)))
    assert len(parts) == count
    for part in parts:
        assert len({int(fabric.routers.group[switch]) for switch in part}) == 1
        assert nx.is_isomorphic(nx.MultiGraph(net.subgraph(part)), nx.MultiGraph(alone))
    assert {int(fabric.routers.group[switch]) for part in parts for switch in part} == set(range(count))
    # Every node has exactly one cable to a leaf of each plane.
    for node in range(nodes):
        leaves = [to for to in net.successors(node) if to < routers]
        assert sorted(int(fabric.routers.group[leaf]) for leaf in leaves) == list(range(count))
        assert {int(fabric.routers.level[leaf]) for leaf in leaves} == {1}


@pytest.mark.parametrize(("count", "m", "w", "p"), SIZES)
def test_distances_are_those_of_a_plane_and_two_links_more(
    count: int, m: list[int], w: list[int], p: list[float] | None
) -> None:
    fabric, one = build_planes(count, len(m), m, w, p), build_xgft(len(m), m, w, p)
    far = dict(nx.all_pairs_shortest_path_length(nx.Graph(graph(fabric))))
    close = dict(nx.all_pairs_shortest_path_length(nx.Graph(graph(one))))
    routers, tree = len(fabric.routers), len(one.routers)
    for a in range(len(fabric.endpoints)):
        for b in range(len(fabric.endpoints)):
            here, there = a // count, b // count
            expected = 0 if a == b else 2 if here == there else close[tree + here][tree + there] + 2
            assert far[routers + a][routers + b] == expected


def test_nics_share_their_node_and_are_found_by_name() -> None:
    fabric = build_planes(4, 2, [4, 3], [1, 4])
    names, adapters = fabric.endpoints.node.tolist(), fabric.attributes["adapters"]
    assert [names.count(f"n{node}") for node in range(12)] == [4] * 12
    find = endpoint_finder(fabric)
    assert [find(f"n5 mlx5_{nic}", "") for nic in range(4)] == [20, 21, 22, 23]
    assert all(adapter == f"mlx5_{end % 4}" for end, adapter in enumerate(adapters))


def test_the_text_of_planes_and_what_is_none() -> None:
    assert fabric_of("planes:4;2;4,3;1,4").source == "planes:4;2;4,3;1,4"
    assert fabric_of("planes:2;2;4,4;1,2;1,1.5").source == "planes:2;2;4,4;1,2;1,1.5"
    assert nodes_of("planes:4;2;4,3;1,4") == np.prod([4, 3]) == len(set(fabric_of("planes:4;2;4,3;1,4").endpoints.node))
    for text in (
        "planes:2",
        "planes:0;1;4;1",
        "planes:2;2;4;1",
        "planes:2;1;4;2",
        "planes:2,2;1;4;1",
        "planes:a;1;4;1",
    ):
        with pytest.raises(BadRequest):
            fabric_of(text)
    # 2,000,000 cables are allowed: 2 planes of 1,000 nodes and 999 spines have 2 x (1,000 x 999 + 2 x 1,000).
    with pytest.raises(TooCostly):
        fabric_of("planes:2;2;1,1000;1,999")
