"""Expected loads of a fat tree's links, against an enumeration of single paths, and invariants of any tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flitwatch_domain.fabric import ROLES, Endpoints, Fabric, FabricKind, Links, NodeRole, Routers
from flitwatch_domain.generators import build_quartz1, build_torus, build_xgft
from flitwatch_domain.link_shares import JobTraffic
from flitwatch_domain.tree_routes import NO_WAY, TreeRoutes

Floats = NDArray[np.float64]


def job(fabric: Fabric, ends: NDArray[np.int64], rng: np.random.Generator) -> JobTraffic:
    """Endpoints that send and receive different amounts, as many bytes in as out."""
    sent, received = rng.random((2, len(ends))) * 1e9
    return JobTraffic(
        fabric.endpoints.router[ends].astype(np.int64), sent, received * sent.sum() / received.sum(), ends
    )


def loads(fabric: Fabric, *jobs: JobTraffic) -> Floats:
    return TreeRoutes(fabric).loads(jobs, np.arange(len(fabric.links)), 0.0)


def without(fabric: Fabric, keep: NDArray[np.bool_]) -> Fabric:
    """The same fabric with some links gone."""
    links = fabric.links
    names = ("src", "dst", "src_port", "dst_port", "link_class", "bandwidth_bps", "multiplicity")
    return replace(fabric, links=Links(**{name: getattr(links, name)[keep] for name in names}, classes=links.classes))


def cut(fabric: Fabric, rng: np.random.Generator, cables: int) -> Fabric:
    """The same tree with some cables between switches gone, both directions."""
    links, keep = fabric.links, np.ones(len(fabric.links), bool)
    up = np.flatnonzero(fabric.of_class("up"))
    for one in rng.choice(up, cables, replace=False).tolist():
        keep[one] = False
        back = (links.src == links.dst[one]) & (links.dst == links.src[one]) & (links.src_port == links.dst_port[one])
        keep[back] = False
    return without(fabric, keep)


def one_by_one(fabric: Fabric, traffic: JobTraffic) -> Floats:
    """Loads by following every pair of switches for itself; NaN if a pair has no path."""
    links, level, routers = fabric.links, fabric.routers.level, len(fabric.routers)
    leaving = [np.flatnonzero((links.src == switch) & (links.dst < routers)).tolist() for switch in range(routers)]
    load = np.zeros(len(links))

    def falls(at: int, to: int) -> bool:
        return at == to or any(
            level[links.dst[one]] < level[at] and falls(int(links.dst[one]), to) for one in leaving[at]
        )

    def climbs(at: int, to: int) -> float:
        if falls(at, to):
            return 0
        return min([1 + climbs(int(links.dst[one]), to) for one in leaving[at] if level[links.dst[one]] > level[at]], default=np.inf)  # fmt: skip

    def follow(at: int, to: int, amount: float) -> None:
        if at == to:
            return
        if falls(at, to):
            taken = [one for one in leaving[at] if level[links.dst[one]] < level[at] and falls(int(links.dst[one]), to)]
        else:
            left = climbs(at, to)
            taken = [one for one in leaving[at] if level[links.dst[one]] > level[at] and climbs(int(links.dst[one]), to) == left - 1]  # fmt: skip
        if not taken:
            load[:] = np.nan
        for one in taken:
            load[one] += amount / len(taken)
            follow(int(links.dst[one]), to, amount / len(taken))

    sent = np.bincount(traffic.router, traffic.sent, routers)
    received = np.bincount(traffic.router, traffic.received, routers)
    for source in np.flatnonzero(sent).tolist():
        for target in np.flatnonzero(received).tolist():
            follow(source, target, sent[source] * received[target] / received.sum())
    return load


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 4))
def test_every_way_is_followed_in_trees_with_cables_missing(seed: int, gone: int) -> None:
    rng = np.random.default_rng(seed)
    made = (
        build_xgft(2, [3, 4], [1, 3], [1, 1.5]),
        build_xgft(3, [2, 3, 3], [1, 2, 2]),
        build_xgft(3, [2, 2, 3], [1, 2, 1], [1, 2, 1]),
    )
    fabric = cut(made[seed % 3], rng, gone)
    traffic = job(fabric, np.sort(rng.choice(len(fabric.endpoints), 7, replace=False)), rng)
    routes = TreeRoutes(fabric)
    if routes.reason is not None:
        assert routes.reason == NO_WAY
        return
    between = np.flatnonzero(fabric.router_links())
    want = one_by_one(fabric, traffic)[between]
    if np.isfinite(want).all():
        np.testing.assert_allclose(routes.loads([traffic], between, 0.0)[:, 0], want, rtol=1e-9, atol=1e-3)


@pytest.mark.parametrize(
    "fabric",
    [build_quartz1(), build_xgft(2, [6, 5], [1, 3], [1, 2]), cut(build_quartz1(), np.random.default_rng(3), 25)],
)
def test_what_comes_into_a_switch_leaves_it_and_all_that_is_sent_arrives(fabric: Fabric) -> None:
    rng = np.random.default_rng(1)
    jobs = [job(fabric, rng.choice(len(fabric.endpoints), 25, replace=False), rng) for _ in range(3)]
    load, routers = loads(fabric, *jobs), len(fabric.routers)
    for at, one in enumerate(jobs):
        into, out = (np.bincount(end, load[:, at], fabric.vertices) for end in (fabric.links.dst, fabric.links.src))
        np.testing.assert_allclose(into[:routers], out[:routers], rtol=1e-9, atol=1e-3)
        np.testing.assert_allclose(into[routers:].sum(), one.sent.sum())
        np.testing.assert_allclose(out[routers:].sum(), one.sent.sum())


def test_with_one_spine_the_loads_are_what_each_leaf_sends_and_receives() -> None:
    fabric, rng = build_xgft(2, [4, 5], [1, 1]), np.random.default_rng(2)
    traffic = job(fabric, rng.permutation(20)[:9], rng)
    load, links = loads(fabric, traffic)[:, 0], fabric.links
    sent, received = (np.bincount(traffic.router, side, 6) for side in (traffic.sent, traffic.received))
    # All but what stays on the leaf.
    within = sent * received / received.sum()
    for at, side in (("up", sent), ("down", received)):
        of = np.flatnonzero(fabric.of_class(at))
        leaf = np.minimum(links.src[of], links.dst[of])
        np.testing.assert_allclose(load[of], (side - within)[leaf])


def test_a_symmetric_tree_is_loaded_evenly() -> None:
    fabric = build_xgft(3, [4, 3, 4], [1, 2, 3])
    every = np.arange(len(fabric.endpoints))
    alike = JobTraffic(fabric.endpoints.router.astype(np.int64), np.full(len(every), 1e9), np.full(len(every), 1e9))
    load, level = loads(fabric, alike)[:, 0], fabric.routers.level
    for low in (0, 1):
        between = fabric.router_links()
        of = between & (np.minimum(level[fabric.links.src % len(level)], level[fabric.links.dst % len(level)]) == low)
        assert np.ptp(load[of]) <= 1e-6 * load[of].mean()


def test_a_job_in_one_pod_loads_nothing_outside_it() -> None:
    fabric = build_quartz1()
    rng = np.random.default_rng(4)
    traffic = job(fabric, np.flatnonzero(fabric.routers.group[fabric.endpoints.router] == 2)[::9], rng)
    used = np.flatnonzero((loads(fabric, traffic)[:, 0] > 0) & fabric.router_links())
    assert len(used) and set(fabric.routers.group[fabric.links.src[used]].tolist()) == {2}


def test_parts_that_no_cable_joins_keep_their_traffic() -> None:
    whole = build_xgft(3, [2, 2, 2], [1, 2, 2])
    core = np.append(whole.routers.level == 2, np.zeros(len(whole.endpoints), bool))
    fabric = without(whole, ~core[whole.links.src] & ~core[whole.links.dst])
    traffic = job(fabric, np.arange(8), np.random.default_rng(5))
    load, links, pod = loads(fabric, traffic)[:, 0], fabric.links, fabric.routers.group[traffic.router]
    for number in (0, 1):
        here = pod == number
        sent, received = traffic.sent[here], traffic.received[here]
        leaf = traffic.router[here][0]
        away = traffic.router[here] != leaf
        # Of a pod that receives less than it sends, the rest left for where no way leads.
        crosses = sent[~away].sum() * min(1.0, received.sum() / sent.sum()) * received[away].sum() / received.sum()
        assert load[(links.src == leaf) & (links.dst < len(fabric.routers))].sum() == pytest.approx(crosses)


def test_io_traffic_goes_to_the_io_nodes() -> None:
    fabric = build_xgft(2, [4, 3], [1, 2])
    role = np.full(12, ROLES.index(NodeRole.COMPUTE))
    role[11] = ROLES.index(NodeRole.IO)
    ends = fabric.endpoints
    fabric = replace(fabric, endpoints=Endpoints(ends.router, port=ends.port, node=ends.node, role=role))
    writes = JobTraffic(np.array([0, 0]), np.array([1e9, 1e9]), np.zeros(2))
    load, links = loads(fabric, writes)[:, 0], fabric.links
    assert load[(links.dst == 2) & (links.src < 5)].sum() == pytest.approx(2e9)


def test_what_is_no_tree_or_has_no_ways_says_so() -> None:
    assert "nor a tree" in (TreeRoutes(build_torus([4, 4])).reason or "")
    fabric = build_xgft(2, [2, 2], [1, 2])
    assert TreeRoutes(replace(fabric, routers=Routers(fabric.routers.name))).reason is not None
    assert TreeRoutes(replace(fabric, kind=FabricKind.GRAPH)).reason is not None
    # Leaf 0 is at spine 2 alone and leaf 2 at spine 4 alone; leaf 1 joins them, but nothing goes down and up again.
    wide, links = build_xgft(2, [2, 3], [1, 2]), build_xgft(2, [2, 3], [1, 2]).links
    gone = [(0, 4), (2, 3)]
    keep = ~np.isin(links.src * 10 + links.dst, [a * 10 + b for pair in gone for a, b in (pair, pair[::-1])])
    assert TreeRoutes(without(wide, keep)).reason == NO_WAY
    # A leaf that lost all its cables keeps its own traffic, and the rest of the tree has its ways.
    alone = without(wide, ~((links.src == 0) & (links.dst < 5)) & ~((links.dst == 0) & (links.src < 5)))
    routes = TreeRoutes(alone)
    assert routes.reason is None
    load = routes.loads([job(alone, np.arange(6), np.random.default_rng(6))], np.arange(len(alone.links)), 0.0)
    assert np.isfinite(load).all() and (load[alone.links.src == 1] > 0).all()


def test_a_job_without_traffic_and_links_that_nobody_asks_for_are_no_trouble() -> None:
    fabric = build_xgft(2, [2, 2], [1, 2])
    routes = TreeRoutes(fabric)
    silent = JobTraffic(np.array([0, 1]), np.zeros(2), np.zeros(2))
    assert not routes.loads([silent], np.arange(len(fabric.links)), 0.0).any()
    assert routes.loads([silent], np.empty(0, np.int64), 0.0).shape == (0, 1)
    assert routes.loads([], np.arange(3), 0.0).shape == (3, 0) and routes.detour([silent], None) == 0
