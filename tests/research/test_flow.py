"""The flow engine through its Python interface, against networkx and plain counting."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flitwatch_domain.secret_file import LocalText
from flitwatch_research import core_topology as topology
from flitwatch_research import flow, routings, topologies


def graph_of(core: topology.Topology) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edges_from(zip(core.src.tolist(), core.dst.tolist(), strict=True))
    return graph


trees = st.integers(2, 3).flatmap(
    lambda h: st.tuples(
        st.lists(st.integers(1, 4), min_size=h, max_size=h),
        st.lists(st.integers(1, 3), min_size=h - 1, max_size=h - 1).map(lambda w: [1, *w]),
        st.lists(st.integers(1, 2), min_size=h - 1, max_size=h - 1).map(lambda p: [1.0, *map(float, p)]),
    )
)
tori = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(trees.map(lambda t: topology.xgft(*t)) | tori.map(topology.torus))
def test_computed_routes_are_shortest_walks(core: topology.Topology) -> None:
    routes, graph = flow.algorithmic_routes(core), graph_of(core)
    rng = np.random.default_rng(core.endpoints)
    for src, dst in rng.integers(0, core.endpoints, (20, 2)):
        links = routes.links_of(int(src), int(dst))
        if src == dst:
            assert len(links) == 0
            continue
        assert len(links) == nx.shortest_path_length(graph, core.routers + src, core.routers + dst)
        walk = nx.DiGraph([(int(core.src[link]), int(core.dst[link])) for link in links])
        assert nx.shortest_path_length(walk, core.routers + src, core.routers + dst) == len(links)


@settings(max_examples=25, deadline=None)
@given(trees.map(lambda t: topology.xgft(*t)) | tori.map(topology.torus), st.integers(0, 2**32))
def test_counts_are_those_of_the_walks(core: topology.Topology, seed: int) -> None:
    routes = flow.algorithmic_routes(core)
    src, dst = np.random.default_rng(seed).integers(0, core.endpoints, (2, 100)).astype(np.uint32)
    src, dst = src[src != dst].copy(), dst[src != dst].copy()
    expected = np.zeros(core.links, np.uint32)
    for a, b in zip(src, dst, strict=True):
        np.add.at(expected, routes.links_of(int(a), int(b)), 1)
    assert np.array_equal(routes.count(src, dst), expected)


@pytest.mark.parametrize("spec", ["xgft:3;4,4,3;1,4,2;1,1,1.5", "theta", "quartz1", "torus:6,5"])
@pytest.mark.parametrize("semantics", ["longest-path", "orcs"])
def test_threads_and_splits_give_the_same_bits(spec: str, semantics: str) -> None:
    routes = routings.routes_of(topologies.parse_topology(spec))
    half = routes.endpoints // 2

    def costs(**options: int) -> np.ndarray:
        runs = {"runs": 24} | options
        result = flow.run_collective(routes, "binomial-bcast", half, half, seed=5, semantics=semantics, **runs)  # type: ignore[arg-type]
        assert result is not None
        return np.stack([result.quiet, result.perturbed])

    whole = costs(threads=1)
    assert np.array_equal(whole, costs(threads=2))
    assert np.array_equal(whole, np.hstack([costs(runs=10), costs(runs=14, first_run=10, threads=2)]))


def test_a_watcher_can_stop_a_simulation() -> None:
    routes = flow.algorithmic_routes(topology.torus([20, 20, 20]))
    seen = []

    def watch(done: int, total: int) -> bool:
        seen.append((done, total))
        return False

    assert flow.run_collective(routes, "binomial-bcast", 4000, 4000, 1_000_000, watch=watch) is None
    assert seen[0][1] == 1_000_000


def test_bad_sizes_are_refused() -> None:
    routes = flow.algorithmic_routes(topology.torus([4, 4]))
    for ranks, perturbing, pattern in [(10, 10, "ring"), (1, 4, "ring"), (8, 8, "nonsense")]:
        with pytest.raises(ValueError):
            flow.run_collective(routes, pattern, ranks, perturbing, 5)
    with pytest.raises(ValueError):
        flow.run_collective(routes, "ring", 8, 8, 0)
    with pytest.raises(ValueError):
        routes.count(np.array([0], np.uint32), np.array([99], np.uint32))


@pytest.mark.system("numeric")
@pytest.mark.shared
@pytest.mark.parametrize("name", ["theta.interconnect", "links-edison.txt"])
def test_imported_machines_have_the_minimal_hops_of_an_independent_search(shared: Path, name: str) -> None:
    named = topologies.parse_topology(LocalText(f"file:{shared / 'data' / 'cray-wiring' / name}"))
    core = named.core
    pairs = np.random.default_rng(11).integers(0, core.endpoints, (10_000, 2)).astype(np.uint32)
    src, dst = pairs[:, 0].copy(), pairs[:, 1].copy()
    routers = nx.Graph()
    between = (core.src < core.routers) & (core.dst < core.routers)
    routers.add_edges_from(zip(core.src[between].tolist(), core.dst[between].tolist(), strict=True))
    near, far = core.router_of[src], core.router_of[dst]
    expected = np.zeros(len(pairs), np.int64)
    for target in np.unique(far):
        hops = nx.single_source_shortest_path_length(routers, int(target))
        here = far == target
        expected[here] = [hops[int(router)] + 2 for router in near[here]]
    expected[src == dst] = 0
    assert np.array_equal(topology.hops_between(core, src, dst), expected)
    minhop = routings.routes_of(named, "minhop")
    walked = [len(minhop.links_of(int(a), int(b))) for a, b in pairs[:2000]]
    assert walked == expected[:2000].tolist()


@pytest.mark.system("numeric")
@pytest.mark.parametrize("spec", ["theta", "edison"])
def test_minimal_routes_cross_one_global_link_and_valiant_two(spec: str) -> None:
    named = topologies.parse_topology(spec)
    core = named.core
    blue = core.link_class == core.class_names.index("blue")
    minimal, valiant = routings.routes_of(named, "minimal"), routings.routes_of(named, "valiant")
    rng = np.random.default_rng(3)
    for src, dst in rng.integers(0, core.endpoints, (300, 2)):
        a, b = core.group[core.router_of[src]], core.group[core.router_of[dst]]
        assert int(blue[minimal.links_of(int(src), int(dst))].sum()) == int(a != b)
        if core.router_of[src] != core.router_of[dst]:
            assert int(blue[valiant.links_of(int(src), int(dst), 9)].sum()) == 2


def test_a_dump_of_forwarding_tables_names_what_is_wrong() -> None:
    core = topology.xgft([2, 2], [1, 1])
    good = (
        b"Unicast lids [0-9] of switch Lid 2 guid 0x11 ('leaf0'):\n0x0001 001 # Channel Adapter portguid 0x21: 'n0'\n"
    )
    table, ignored = topology.table_from_dump(
        core, good + b"0x0002 000 # Switch portguid 0x11: 'leaf0'\n", [0x11, 0x12, 0x13], [0x21, 0x22, 0x23, 0x24]
    )
    assert ignored == 1 and table.ports().reshape(3, 4)[0].tolist() == [1, -1, -1, -1]
    assert table.check()[0] > 0
    with pytest.raises(ValueError, match="routes"):
        flow.table_routes(core, table, "lft")
    with pytest.raises(ValueError, match="no switch"):
        topology.table_from_dump(core, good, [1, 2, 3], [0x21, 0x22, 0x23, 0x24])
    with pytest.raises(ValueError, match="port 9"):
        topology.table_from_dump(core, good.replace(b" 001 ", b" 009 "), [0x11, 0x12, 0x13], [0x21, 0x22, 0x23, 0x24])
    with pytest.raises(ValueError, match="line 2"):
        topology.table_from_dump(core, good.replace(b"001 #", b"xyz #"), [0x11, 0x12, 0x13], [0x21, 0x22, 0x23, 0x24])
