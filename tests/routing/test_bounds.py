"""Bounds of broken trees against exact solvers that know nothing of levels: all ways of every pair, written down."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from routing.broken import keeping, without
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import quartz1, xgft
from flitwatch_routing.bounds import bounds, whole_loads
from flitwatch_routing.optimise import optimise
from flitwatch_routing.patterns import traffic
from flitwatch_routing.tree import as_tree

#: Two and three levels, tapered and not.
TREES = [
    (2, [2, 3], [1, 3]),
    (2, [3, 3], [1, 2]),
    (3, [2, 2, 2], [1, 2, 2]),
    (3, [2, 2, 3], [1, 2, 1]),
    (3, [1, 2, 2], [1, 3, 2]),
]


def ways(fabric: Fabric, source: int, to: int) -> list[list[int]]:
    """Shortest ways of links from leaf to leaf: over one spine, else over a core."""
    links = fabric.links
    after: dict[int, list[int]] = {}
    for link in np.flatnonzero(fabric.router_links()).tolist():
        after.setdefault(int(links.src[link]), []).append(link)
    found: list[list[int]] = [[]]
    level = np.asarray(fabric.routers.level)
    pods = np.asarray(fabric.routers.group)
    for hop in range(2 if level.max() == 1 or pods[source] == pods[to] else 4):
        grown = [[*way, link] for way in found for link in after.get(int(links.dst[way[-1]]) if way else source, [])]
        half = 1 if level.max() == 1 or pods[source] == pods[to] else 2
        found = [way for way in grown if (level[links.dst[way[-1]]] > level[links.src[way[-1]]]) == (hop < half)]
    return [way for way in found if links.dst[way[-1]] == to]


def demands(fabric: Fabric, src: np.ndarray, dst: np.ndarray, size: np.ndarray) -> dict[tuple[int, int], float]:
    """Bytes of (leaf, endpoint), as tables see them."""
    leaf = fabric.endpoints.router
    found: dict[tuple[int, int], float] = {}
    for a, b, amount in zip(src.tolist(), dst.tolist(), size.tolist(), strict=True):
        if leaf[a] != leaf[b]:
            found[int(leaf[a]), b] = found.get((int(leaf[a]), b), 0.0) + amount
    return found


def exact(fabric: Fabric, items: dict[tuple[int, int], float], one_port: bool) -> float | None:
    """The least largest load; None where some item has no way."""
    leaf, links = fabric.endpoints.router, fabric.links
    listed = [(item, way) for item in items for way in ways(fabric, item[0], int(leaf[item[1]]))]
    if {item for item, _ in listed} != set(items):
        return None
    used = sorted({(int(links.src[link]), item[1], link) for item, way in listed for link in way})
    count, ports = len(listed), {key: len(listed) + n for n, key in enumerate(used)} if one_port else {}
    width = count + len(ports) + 1
    equal = np.zeros((len(items), width))
    below: list[np.ndarray] = []
    limits: list[float] = []
    for n, item in enumerate(items):
        equal[n, [k for k, (one, _) in enumerate(listed) if one == item]] = 1
    for link in sorted({link for _, way in listed for link in way}):
        row = np.zeros(width)
        for k, (item, way) in enumerate(listed):
            row[k] = items[item] * (link in way)
        row[-1] = -1
        below.append(row)
        limits.append(0)
    for k, (item, way) in enumerate(listed if one_port else []):
        for link in way:
            row = np.zeros(width)
            row[k], row[ports[int(links.src[link]), item[1], link]] = 1, -1
            below.append(row)
            limits.append(0)
    for key in {key[:2] for key in ports}:
        row = np.zeros(width)
        row[[at for one, at in ports.items() if one[:2] == key]] = 1
        below.append(row)
        limits.append(1)
    cost = np.r_[np.zeros(width - 1), 1]
    if not one_port:
        return float(linprog(cost, np.array(below), limits, equal, np.ones(len(items)), bounds=(0, None)).fun)
    whole = np.r_[np.ones(width - 1), 0]
    rules = [LinearConstraint(np.array(below), -np.inf, limits), LinearConstraint(equal, 1, 1)]
    box = Box(np.zeros(width), np.r_[np.ones(width - 1), np.inf])
    return float(milp(cost, constraints=rules, integrality=whole, bounds=box).fun)


@pytest.mark.parametrize("tree", [one for one in TREES if one[0] == 3])
def test_a_core_whose_cable_lost_one_direction_is_no_leaf(tree: tuple) -> None:
    fabric = xgft(*tree)
    links = np.arange(len(fabric.links))
    shapes = {as_tree(keeping(fabric, links != lost)).shape for lost in np.flatnonzero(fabric.router_links())}
    assert shapes == {as_tree(fabric).shape}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TREES), st.integers(0, 10_000), st.integers(0, 4), st.integers(1, 7), st.booleans())
def test_bounds_never_pass_the_optimum_and_z_ar_is_exact(
    tree: tuple, seed: int, cables: int, flows: int, one_way: bool
) -> None:
    rng = np.random.default_rng(seed)
    fabric = without(xgft(*tree), cables, seed)
    if one_way:  # one direction of a cable alone
        between = np.flatnonzero(fabric.router_links())
        fabric = keeping(fabric, np.arange(len(fabric.links)) != rng.choice(between))
    n = len(fabric.endpoints)
    src, dst, size = rng.integers(0, n, flows), rng.integers(0, n, flows), rng.choice([1.0, 2.0, 3.5], flows)
    items = demands(fabric, src, dst, size)
    assume(items)
    spread = exact(fabric, items, one_port=False)
    try:
        found = bounds(fabric, (src, dst, size))
    except BadInput:
        assume(False)  # no tree any more: a spine lost its cores
    if spread is None:
        assert found.z_ar == np.inf
        return
    assert found.exact
    assert found.z_ar == pytest.approx(spread, rel=1e-6)
    best = exact(fabric, items, one_port=True)
    assert best is not None and found.z_ar <= found.fixed * (1 + 1e-9) and found.fixed <= best * (1 + 1e-6)


def test_what_a_failed_cable_forces_is_in_the_bound() -> None:
    """A leaf with one of its two cables left sends all that it sends over it, where the intact tree would send half."""
    fabric = xgft(2, [3, 3], [1, 2])
    links = fabric.links
    spine = 3
    broken = keeping(fabric, ~(((links.src == 0) & (links.dst == spine)) | ((links.src == spine) & (links.dst == 0))))
    demand = np.array([0, 1, 2]), np.array([3, 4, 5]), np.ones(3)
    assert bounds(fabric, demand).z_ar == 1.5
    found = optimise(broken, demand, time_limit_s=0.5)
    assert found.z == pytest.approx(3) and found.z_ar == pytest.approx(3, rel=1e-6) and found.proven
    assert found.ar_gap == pytest.approx(0, abs=1e-6)


def test_a_missing_switch_counts() -> None:
    fabric = xgft(2, [4, 4], [1, 4])
    links, spine = fabric.links, 5
    broken = keeping(fabric, (links.src != spine) & (links.dst != spine))
    found = bounds(broken, traffic("bisection", 16, 1))
    assert found.z_ar == pytest.approx(4 / 3, rel=1e-6) and found.fixed == pytest.approx(2)


@pytest.mark.parametrize(
    ("sizes", "bound", "raised"),
    [
        ([4, 6, 10], 7.5, 8),
        ([4, 6, 10], 8.0, 8),
        ([4, 6, 10], 8 * (1 + 1e-9), 8),
        ([4.5, 6], 7.5, 7.5),
        ([3], np.inf, np.inf),
        ([], 0, 0),
        ([0, 0], 0, 0),
        ([2.0**60], 3, 3),
    ],
)
def test_whole_bytes_add_up_to_whole_loads(sizes: list, bound: float, raised: float) -> None:
    assert whole_loads(np.array(sizes, float), bound) == pytest.approx(raised, rel=1e-8)


def test_a_bound_without_time_still_holds() -> None:
    fabric = without(quartz1(), 31, 1)
    src, dst, size = traffic("bisection-shuffle", 3072, 1)
    near = src < 1536
    found = bounds(fabric, (src[near], dst[near], size[near]), time_limit_s=0.0)
    assert not found.exact and 0 < found.z_ar <= found.fixed


def test_a_bound_that_is_stopped_still_holds() -> None:
    fabric, demand = without(xgft(3, [8, 6, 4], [1, 6, 6]), 6, 1), traffic("noisy-shuffle", 192, 1)
    asked: list[float] = []

    def watch(seconds: float, largest: float, moves: int) -> bool:
        asked.append(seconds)
        return False

    whole, stopped = bounds(fabric, demand), bounds(fabric, demand, watch=watch)
    assert whole.exact and not stopped.exact and asked and min(asked) >= 0
    assert 0 < stopped.z_ar <= whole.z_ar * (1 + 1e-6)


def test_ways_are_what_the_oracle_says() -> None:
    """The oracle itself: as many ways as the tree has, each from leaf to leaf."""
    fabric = xgft(3, [2, 2, 2], [1, 2, 2])
    leaf, links = fabric.endpoints.router, fabric.links
    found = ways(fabric, int(leaf[0]), int(leaf[-1]))
    assert len(found) == 4 and all(links.dst[a] == links.src[b] for way in found for a, b in pairwise(way))
