"""HyperX and rail-optimised trees against closed forms: sizes, diameter, mean distance, numbers of minimal paths, cables across the middle."""

from __future__ import annotations

from itertools import pairwise
from math import factorial, prod

import networkx as nx
import numpy as np
import pytest
from domain.sound_fabrics import assert_sound, graph

from flitwatch_domain.errors import BadRequest, TooCostly
from flitwatch_domain.fabric import FabricKind, LinkClass
from flitwatch_domain.generators import build_hyperx, build_rails, dimension_order
from flitwatch_domain.topology_spec import fabric_of

SIZES = [((4,), 2, 1), ((2, 3), 1, 1), ((4, 4), 3, 1), ((2, 3, 4), 2, 2), ((2, 2, 2, 2), 1, 1)]


@pytest.mark.parametrize(("extents", "ends", "cables"), SIZES)
def test_a_hyperx_has_the_sizes_and_distances_of_its_closed_forms(
    extents: tuple[int, ...], ends: int, cables: int
) -> None:
    fabric = build_hyperx(extents, ends, cables)
    assert_sound(fabric)
    routers = prod(extents)
    assert (len(fabric.routers), len(fabric.endpoints)) == (routers, routers * ends)
    radix = ends + cables * sum(extent - 1 for extent in extents)
    assert np.bincount(fabric.links.src)[:routers].tolist() == [radix] * routers
    ports = fabric.links.src_port[fabric.links.src < routers]
    assert set(ports.tolist()) == set(range(radix))
    net = nx.Graph(graph(fabric).subgraph(range(routers)))
    assert nx.diameter(net) == len(extents)
    coords = np.asarray(fabric.routers.coords)
    differ = (coords[:, None] != coords[None]).sum(axis=2)
    far = dict(nx.all_pairs_shortest_path_length(net))
    assert all(far[a][b] == differ[a, b] for a in range(routers) for b in range(routers))
    # The mean over all pairs of routers, itself included: every dimension is wrong in all but one of its places.
    assert differ.mean() == pytest.approx(sum(1 - 1 / extent for extent in extents))


@pytest.mark.parametrize(("extents", "ends", "cables"), SIZES)
def test_as_many_minimal_paths_as_orders_of_the_dimensions(extents: tuple[int, ...], ends: int, cables: int) -> None:
    fabric = build_hyperx(extents, ends, cables)
    net = nx.MultiGraph()
    routers = len(fabric.routers)
    for a, b in zip(fabric.links.src.tolist(), fabric.links.dst.tolist(), strict=True):
        if a < b < routers:
            net.add_edge(a, b)
    paths = len(list(nx.all_shortest_paths(nx.Graph(net), 0, routers - 1)))
    assert paths == factorial(len(extents))
    assert min(net.number_of_edges(a, b) for a, b in net.edges()) == cables


@pytest.mark.parametrize(("extents", "cables"), [((4, 4), 1), ((6, 2), 2), ((2, 3, 4), 1)])
def test_cables_across_the_middle_of_a_dimension(extents: tuple[int, ...], cables: int) -> None:
    fabric = build_hyperx(extents, 1, cables)
    coords, routers = np.asarray(fabric.routers.coords), len(fabric.routers)
    between = (fabric.links.src < routers) & (fabric.links.dst < routers)
    for d, extent in enumerate(extents):
        if extent % 2:
            continue
        half = coords[:, d] < extent // 2
        crossing = half[fabric.links.src[between]] & ~half[fabric.links.dst[between]]
        assert crossing.sum() == (extent // 2) ** 2 * cables * routers // extent


@pytest.mark.parametrize(("extents", "ends", "cables"), SIZES)
def test_routes_in_the_order_of_dimensions_are_minimal_and_cannot_deadlock(
    extents: tuple[int, ...], ends: int, cables: int
) -> None:
    fabric = build_hyperx(extents, ends, cables)
    table, links, routers = dimension_order(fabric), fabric.links, len(fabric.routers)
    coords, waits = np.asarray(fabric.routers.coords), nx.DiGraph()
    for end in range(len(fabric.endpoints)):
        target = int(fabric.endpoints.router[end])
        for start in range(routers):
            here, path = start, []
            while here < routers:
                path.append(int(table[end, here]))
                assert links.src[path[-1]] == here
                here = int(links.dst[path[-1]])
            assert here == routers + end and len(path) == 1 + (coords[start] != coords[target]).sum()
            waits.add_edges_from(pairwise(path))
    assert nx.is_directed_acyclic_graph(waits)
    used = np.bincount(table.ravel().astype(int), minlength=len(links))
    assert (used[(links.src < routers)] > 0).all() or ends * len(extents) < cables


@pytest.mark.parametrize(
    ("count", "nodes", "groups", "spines"), [(8, 4, 3, 16), (2, 3, 2, 1), (1, 2, 2, 2), (4, 1, 1, 4)]
)
def test_rails_meet_at_the_spines_alone(count: int, nodes: int, groups: int, spines: int) -> None:
    fabric = build_rails(count, nodes, groups, spines)
    assert_sound(fabric)
    leaves, ends = count * groups, count * nodes * groups
    assert (
        fabric.kind is FabricKind.FAT_TREE and len(fabric.routers) == leaves + spines and len(fabric.endpoints) == ends
    )
    names = fabric.endpoints.node.tolist()
    adapters = fabric.attributes["adapters"]
    assert len(set(names)) == nodes * groups and len(set(zip(names, adapters, strict=True))) == ends
    # A node is on all leaves of its group, by its NIC's number; a rail of a group is one hop away, any other three.
    net = nx.Graph(graph(fabric))
    routers = leaves + spines
    far = dict(nx.all_pairs_shortest_path_length(net))
    for a in range(ends):
        leaf = int(fabric.endpoints.router[a])
        assert fabric.routers.name[leaf] == f"leaf{int(names[a][1:]) // nodes}.{adapters[a].removeprefix('mlx5_')}"
        for b in range(ends):
            same = leaf == int(fabric.endpoints.router[b])
            assert far[routers + a][routers + b] == (0 if a == b else 2 if same else 4)
    if leaves > 1:
        assert len(list(nx.all_shortest_paths(net, 0, leaves - 1))) == spines
    up = fabric.links.link_class == fabric.links.classes.index(LinkClass.UP)
    assert up.sum() == leaves * spines


def test_texts_of_both_and_what_is_none() -> None:
    assert fabric_of("hyperx:4,4;3").source == "hyperx:4,4;3"
    assert fabric_of("hyperx:2,3,4;2;2").source == "hyperx:2,3,4;2;2"
    assert fabric_of("rails:8,4,3,16").source == "rails:8,4,3,16"
    for text in (
        "hyperx:4,4",
        "hyperx:1,4;2",
        "hyperx:4;0",
        "hyperx:4;1;1;1",
        "rails:8,4,3",
        "rails:0,4,3,1",
        "hyperx:a;1",
    ):
        with pytest.raises(BadRequest):
            fabric_of(text)
    with pytest.raises(TooCostly):
        fabric_of("hyperx:1000,1000;100")
    with pytest.raises(TooCostly):
        fabric_of("rails:100,1000,1000,1")
