"""Generated machines against published sizes, real cable lists and graph theory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import factorial, prod
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from domain.sound_fabrics import assert_sound, graph
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.errors import BadInput, BadRequest, TooCostly
from flitwatch_domain.fabric import (
    ROLES,
    Endpoints,
    Fabric,
    FabricKind,
    LinkClass,
    Links,
    NodeRole,
    Routers,
    Technology,
    endpoint_finder,
)
from flitwatch_domain.fabric.cables import describe_slow_cables, find_slow_cables
from flitwatch_domain.generators import (
    build_dragonfly,
    build_hyperx,
    build_planes,
    build_quartz1,
    build_rails,
    build_theta,
    build_torus,
    build_xgft,
    cori_like,
    dimension_order,
    edison_like,
    most_blue_routers,
    slingshot_like,
)
from flitwatch_domain.importers import read_fabric
from flitwatch_domain.task_models.base import nodes_of
from flitwatch_domain.topology_spec import fabric_of


def cables(fabric: Fabric) -> Counter[tuple[str, str, str]]:
    """How many links lead from one vertex to another, by class."""
    links = fabric.links
    names = [fabric.vertex_name(vertex) for vertex in range(fabric.vertices)]
    return Counter(
        (names[src], names[dst], kind) for src, dst, kind in zip(links.src, links.dst, links.class_names, strict=True)
    )


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "generate"),
    [("theta.interconnect", build_theta), ("links-edison.txt", edison_like)],
    ids=["theta", "edison"],
)
def test_router_pairs_are_those_of_the_real_cable_list(shared: Path, file: str, generate: object) -> None:
    real, made = read_fabric(shared / "data" / "cray-wiring" / file), generate()  # type: ignore[operator]
    assert cables(made) == cables(real)
    assert list(made.routers.name) == list(real.routers.name)
    assert made.groups == real.groups
    np.testing.assert_array_equal(made.endpoints.nid, real.endpoints.nid)
    assert made.links.bandwidth_bps.sum() == pytest.approx(real.links.bandwidth_bps.sum(), rel=1e-12)


@pytest.mark.shared
def test_theta_has_its_real_blue_tiles(shared: Path) -> None:
    real, made = read_fabric(shared / "data" / "cray-wiring" / "theta.interconnect"), build_theta()

    def tiles(fabric: Fabric) -> set[tuple[int, ...]]:
        links, blue = fabric.links, fabric.of_class(LinkClass.BLUE)
        columns = (links.src, links.src_port, links.dst, links.dst_port)
        return set(zip(*(column[blue].tolist() for column in columns), strict=True))

    assert tiles(made) == tiles(real)


@pytest.mark.parametrize(
    ("fabric", "routers", "groups", "endpoints", "by_class"),
    [
        (build_theta(), 864, 9, 3456, {"green": 12960, "black": 12960, "blue": 3456, "terminal": 6912}),
        (edison_like(), 1440, 15, 5760, {"green": 21600, "black": 21600, "blue": 5040, "terminal": 11520}),
        (cori_like(), 3264, 34, 13056, {"green": 48960, "black": 48960, "blue": 26928, "terminal": 26112}),
    ],
    ids=["theta", "edison", "cori"],
)
def test_sizes_of_cray_machines(
    fabric: Fabric, routers: int, groups: int, endpoints: int, by_class: dict[str, int]
) -> None:
    assert (len(fabric.routers), len(fabric.groups), len(fabric.endpoints)) == (routers, groups, endpoints)
    assert fabric.summary()["links_by_class"] == by_class
    assert fabric.simulated
    assert_sound(fabric)


def test_edison_has_no_group_12() -> None:
    assert edison_like().groups == [*range(12), 13, 14, 15]


def test_slingshot_like_machine_keeps_to_64_ports() -> None:
    fabric = slingshot_like(groups=8, switches=16)
    assert_sound(fabric)
    assert fabric.technology is Technology.SLINGSHOT
    degree = np.bincount(fabric.links.src[fabric.links.src < 128], minlength=128)
    assert degree.max() <= 64
    assert int(fabric.links.src_port.max()) < 64
    with pytest.raises(BadRequest, match="too few global ports"):
        slingshot_like(groups=400, switches=16, endpoints_per_switch=40)


@given(
    groups=st.integers(1, 6),
    rows=st.integers(1, 6),
    cols=st.integers(1, 8),
    blue=st.integers(1, 6),
    cable=st.integers(1, 2),
)
@settings(max_examples=40, deadline=None)
def test_any_dragonfly_is_sound(groups: int, rows: int, cols: int, blue: int, cable: int) -> None:
    fabric = build_dragonfly(
        groups, rows, cols, blue_routers=blue, blue_cables=cable, technology=Technology.GENERIC, endpoints_per_router=2
    )
    assert_sound(fabric)
    between = groups * (groups - 1) * blue * cable
    assert fabric.summary()["links_by_class"].get("blue", 0) == between
    if groups > 2 and between:
        blue_links = fabric.of_class(LinkClass.BLUE)
        pairs = np.unique(np.stack([fabric.links.src, fabric.links.dst])[:, blue_links], axis=1)
        degree = np.bincount(pairs[0], minlength=len(fabric.routers))
        assert degree.max() - degree.min() <= -(-(groups - 1) * blue // (rows * cols))


@pytest.mark.parametrize(
    "bad",
    [{"groups": 0}, {"groups": 3, "group_ids": [1, 2]}, {"groups": 2, "cols": 17}, {"groups": 40, "blue_routers": 96}],
)
def test_impossible_dragonflies_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        build_dragonfly(**bad)  # type: ignore[arg-type]


def test_io_routers_are_spread_and_hold_no_compute_node() -> None:
    fabric = build_theta(io_routers_per_group=4)
    io = fabric.endpoints.role == ROLES.index(NodeRole.IO)
    routers = np.unique(fabric.endpoints.router[io])
    assert len(routers) == 4 * 9
    assert io.sum() == 4 * len(routers)


@pytest.mark.parametrize(
    ("m", "w", "p", "endpoints", "switches"),
    [
        ((12, 12), (1, 6), (1, 2), 144, 18),
        ((12, 24), (1, 12), (1, 1), 288, 36),
        ((12, 12, 8), (1, 12, 4), (1, 1, 3), 1152, 240),
        ((12, 12, 16), (1, 12, 8), (1, 1, 1.5), 2304, 480),
        ((12, 12, 24), (1, 12, 12), (1, 1, 1), 3456, 720),
        ((12, 12, 12, 6), (1, 12, 12, 3), (1, 1, 1, 4), 10368, 3024),
        ((12, 12, 12, 12), (1, 12, 12, 6), (1, 1, 1, 2), 20736, 6048),
    ],
)
def test_trees_of_hoefler_2009_table_1(
    m: tuple[int, ...], w: tuple[int, ...], p: tuple[float, ...], endpoints: int, switches: int
) -> None:
    fabric = build_xgft(len(m), m, w, p)
    assert (len(fabric.endpoints), len(fabric.routers)) == (endpoints, switches)
    degree = np.bincount(fabric.links.src[fabric.links.src < switches], minlength=switches)
    assert set(degree.tolist()) == {24}, "full bisection from 24-port switches"
    assert int(fabric.links.src_port.max()) == 24


@given(data=st.data(), h=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_any_xgft_has_the_formulas_sizes_and_shape(data: st.DataObject, h: int) -> None:
    m = data.draw(st.lists(st.integers(1, 4), min_size=h, max_size=h))
    w = [1, *data.draw(st.lists(st.integers(1, 3), min_size=h - 1, max_size=h - 1))]
    fabric = build_xgft(h, m, w)
    for level in range(1, h + 1):
        assert (fabric.routers.level == level - 1).sum() == np.prod(w[:level]) * np.prod(m[level:])
    links, routers = fabric.links, len(fabric.routers)
    up = fabric.of_class(LinkClass.UP)
    rise = fabric.routers.level[links.dst[up]] - fabric.routers.level[links.src[up]]
    assert (rise == 1).all()
    if h > 1:
        parents = np.bincount(links.src[up], minlength=routers)
        for level in range(h - 1):
            assert set(parents[fabric.routers.level == level].tolist()) == {w[level + 1]}
    assert_sound(fabric)


def test_quartz1_of_taffet_2021() -> None:
    fabric = build_quartz1()
    assert (len(fabric.endpoints), len(fabric.routers), len(fabric.links)) == (3072, 208, 12288)
    assert fabric.groups == [0, 1, 2, 3]
    degree = np.bincount(fabric.links.src[fabric.links.src < 208], minlength=208)
    by_level = [set(degree[fabric.routers.level == level].tolist()) for level in range(3)]
    assert by_level == [{48}, {48}, {32}]
    assert_sound(fabric)


@pytest.mark.shared
def test_quartz1_is_the_fabric_that_opensm_routed(shared: Path) -> None:
    real = read_fabric(shared / "samples" / "opensm" / "quartz1.topo")
    made = build_quartz1()
    assert nx.is_isomorphic(nx.Graph(graph_of_switches(real)), nx.Graph(graph_of_switches(made)))
    assert sorted(real.routers.level.tolist()) == sorted(made.routers.level.tolist())


def graph_of_switches(fabric: Fabric) -> nx.MultiDiGraph:
    return graph(fabric).subgraph(range(len(fabric.routers))).copy()


@given(dims=st.lists(st.integers(1, 5), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_tori_are_products_of_cycles(dims: list[int]) -> None:
    fabric = build_torus(dims)
    oracle = nx.grid_graph(dims, periodic=True)
    oracle.remove_edges_from(list(nx.selfloop_edges(oracle)))
    mine = nx.Graph(graph(fabric).subgraph(range(len(fabric.routers))))
    assert sorted(dict(oracle.degree).values()) == sorted(dict(mine.degree).values())
    assert mine.number_of_edges() == oracle.number_of_edges()
    np.testing.assert_array_equal(
        np.ravel_multi_index(tuple(fabric.routers.coords.T), dims), np.arange(len(fabric.routers))
    )
    if len(fabric.routers) > 1:
        assert_sound(fabric)


@pytest.mark.parametrize(
    "build",
    [
        lambda: build_torus([]),
        lambda: build_torus([0]),
        lambda: build_torus([2] * 9),
        lambda: build_xgft(2, [2], [1]),
        lambda: build_xgft(1, [4], [2]),
    ],
)
def test_impossible_tori_and_trees_are_refused(build: object) -> None:
    with pytest.raises(BadRequest):
        build()  # type: ignore[operator]


@pytest.mark.parametrize("groups", [2, 34, 42, 85])
def test_a_cray_of_any_size_is_joined_by_as_many_cables_as_its_tiles_allow(groups: int) -> None:
    blue = min(12, most_blue_routers(groups))
    fabric = build_dragonfly(groups, blue_routers=blue)
    assert len(fabric.routers) == 96 * groups
    links, routers = fabric.links, len(fabric.routers)
    is_blue = fabric.of_class(LinkClass.BLUE)
    group = np.asarray(fabric.routers.group)
    ends = Counter(zip(group[links.src[is_blue]].tolist(), group[links.dst[is_blue]].tolist(), strict=True))
    assert len(ends) == groups * (groups - 1) and set(ends.values()) == {2 * blue}
    # No router has more cables than tiles, and no tile two.
    assert np.bincount(links.src[is_blue], minlength=routers).max() <= 10
    tiles = list(zip(links.src.tolist(), links.src_port.tolist(), strict=True))
    assert len(tiles) == len(set(tiles))
    with pytest.raises(BadRequest, match=f"by at most {most_blue_routers(groups)} router pairs"):
        build_dragonfly(groups, blue_routers=most_blue_routers(groups) + 1)


# Fabrics: construction, validation and views.


def small(**links: object) -> Fabric:
    columns = {"src": [0, 1, 0, 0], "dst": [1, 0, 1, 2]} | links
    return Fabric(
        "small",
        FabricKind.GRAPH,
        Technology.GENERIC,
        Routers(["a", "b"]),
        Endpoints([0]),
        Links(**columns),  # type: ignore[arg-type]
    )


def test_arrays_are_read_only_and_do_not_alias_the_callers() -> None:
    src = np.array([0, 1, 0, 0])
    fabric = small(src=src)
    src[0] = 1
    assert fabric.links.src[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        fabric.links.src[0] = 1


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ({"dst": [1, 0, 1, 3]}, "destination is 3"),
        ({"dst": [1, 0, 1]}, "shape"),
        ({"dst": [0, 0, 1, 2]}, "to itself"),
        ({"multiplicity": [1, 1, 0, 1]}, "multiplicity"),
        ({"bandwidth_bps": [1.0, 1.0, -1.0, 1.0]}, "bandwidth"),
        ({"link_class": [0, 0, 0, 1]}, "class has code 1"),
    ],
)
def test_links_that_cannot_be_are_refused(links: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        small(**links)


def test_two_routers_of_one_name_are_refused() -> None:
    with pytest.raises(BadInput, match="two routers are named 'a'"):
        Routers(["a", "b", "a"])


def test_pairs_of_routers_have_as_many_cables_as_theta() -> None:
    fabric = build_theta()
    ends = np.stack([fabric.links.src, fabric.links.dst])
    for kind, cables in ((LinkClass.BLACK, 3), (LinkClass.BLUE, 2)):
        assert set(np.unique(ends[:, fabric.of_class(kind)], axis=1, return_counts=True)[1]) == {cables}


def test_counted_link_stands_at_the_receivers_tile_on_aries() -> None:
    fabric = build_theta()
    table = fabric.counted_links()
    assert table.shape == (864, 48)
    router, port = np.nonzero(table >= 0)
    link = table[router, port]
    np.testing.assert_array_equal(fabric.links.dst[link], router)
    named = fabric.links.dst_port[link]
    np.testing.assert_array_equal(np.where(port >= 40, port - port % 2, port), named)
    assert (table[:, 40:] >= 0).all()


def test_counted_link_stands_at_the_senders_port_on_infiniband() -> None:
    fabric = build_quartz1()
    table = fabric.counted_links()
    router, port = np.nonzero(table >= 0)
    np.testing.assert_array_equal(fabric.links.src[table[router, port]], router)
    assert len(router) == (fabric.links.src < len(fabric.routers)).sum()


def test_summary_counts_directed_links_with_those_to_endpoints() -> None:
    summary = build_torus([3, 3]).summary()
    assert (summary["switches"], summary["endpoints"], summary["links"]) == (9, 9, 2 * 18 + 2 * 9)


# Multi-plane fat trees against closed forms: each plane is the tree of its sizes, and nothing but nodes joins two.


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
    # A node's accelerators have two links each alongside those of the plane's own tree, whose terminals are the node's NICs.
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


# HyperX and rail-optimised trees against closed forms: sizes, diameter, mean distance, numbers of minimal paths, cables across the middle.


HYPERX_SIZES = [((4,), 2, 1), ((2, 3), 1, 1), ((4, 4), 3, 1), ((2, 3, 4), 2, 2), ((2, 2, 2, 2), 1, 1)]


@pytest.mark.parametrize(("extents", "ends", "cables"), HYPERX_SIZES)
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


@pytest.mark.parametrize(("extents", "ends", "cables"), HYPERX_SIZES)
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


@pytest.mark.parametrize(("extents", "ends", "cables"), HYPERX_SIZES)
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


# Cables that run slower than others of their kind are named, and older devices are not.


TREE = build_xgft(2, [6, 6], [1, 3], bandwidth_bps=200e9)


def with_speed(slow: list[int], speed_bps: float):  # type: ignore[no-untyped-def]
    """The tree with some cables, by the number of a pair of links, at another speed."""
    bandwidth = TREE.links.bandwidth_bps.copy()
    for cable in slow:
        bandwidth[2 * cable : 2 * cable + 2] = speed_bps
    links = TREE.links
    made = type(links)(
        links.src,
        links.dst,
        src_port=links.src_port,
        dst_port=links.dst_port,
        link_class=links.link_class,
        bandwidth_bps=bandwidth,
        classes=links.classes,
    )
    return replace(TREE, links=made)


@given(st.integers(0, len(TREE.links) // 2 - 1), st.sampled_from([25e9, 50e9, 100e9]))
def test_one_planted_slow_cable_is_named(cable: int, speed_bps: float) -> None:
    (found,) = find_slow_cables(with_speed([cable], speed_bps))
    assert found.link // 2 == cable and (found.bandwidth_bps, found.usual_bps) == (speed_bps, 200e9)


def test_nothing_is_said_of_equal_cables_or_of_a_rack_of_older_devices() -> None:
    assert find_slow_cables(TREE) == []
    leaf = np.flatnonzero(TREE.links.src >= len(TREE.routers))[:6] // 2
    assert find_slow_cables(with_speed(leaf.tolist(), 100e9)) == []
    assert find_slow_cables(with_speed([3], 150e9)) == []


@pytest.mark.shared
def test_the_slow_cable_of_an_import_is_said(shared: Path) -> None:
    fabric = read_fabric(shared / "cases/slow-cable/fabric.txt")
    assert [text for text in fabric.warnings if "c02" in text] == describe_slow_cables(fabric)
    assert (
        len(describe_slow_cables(fabric)) == 1
        and "runs at 50 Gb/s; most cables of its kind run at 200 Gb/s" in describe_slow_cables(fabric)[0]
    )
