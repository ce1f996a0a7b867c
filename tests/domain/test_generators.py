"""Generated machines against published sizes, real cable lists and graph theory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from domain.sound_fabrics import assert_sound, graph
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import ROLES, Fabric, LinkClass, NodeRole, Technology
from flitwatch_domain.generators import (
    build_dragonfly,
    build_quartz1,
    build_theta,
    build_torus,
    build_xgft,
    cori_like,
    edison_like,
    most_blue_routers,
    slingshot_like,
)
from flitwatch_domain.importers import read_fabric


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
        bundled = fabric.bundled().links
        degree = np.bincount(bundled.src[bundled.link_class == 2], minlength=len(fabric.routers))
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
