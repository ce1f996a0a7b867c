"""Bounds of broken trees against exact solvers that know nothing of levels: all ways of every pair, written down."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from routing.broken import keeping, without
from routing.exact_bounds import TREES, demands, exact, ways

from flitwatch_domain.errors import BadInput
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing.bounds import compute_bounds, whole_loads
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.tree import as_tree


@pytest.mark.parametrize("tree", [one for one in TREES if one[0] == 3])
def test_a_core_whose_cable_lost_one_direction_is_no_leaf(tree: tuple) -> None:
    fabric = build_xgft(*tree)
    links = np.arange(len(fabric.links))
    shapes = {as_tree(keeping(fabric, links != lost)).shape for lost in np.flatnonzero(fabric.router_links())}
    assert shapes == {as_tree(fabric).shape}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TREES), st.integers(0, 10_000), st.integers(0, 4), st.integers(1, 7), st.booleans())
def test_bounds_never_pass_the_optimum_and_z_ar_is_exact(
    tree: tuple, seed: int, cables: int, flows: int, one_way: bool
) -> None:
    rng = np.random.default_rng(seed)
    fabric = without(build_xgft(*tree), cables, seed)
    if one_way:  # one direction of a cable alone
        between = np.flatnonzero(fabric.router_links())
        fabric = keeping(fabric, np.arange(len(fabric.links)) != rng.choice(between))
    n = len(fabric.endpoints)
    src, dst, size = rng.integers(0, n, flows), rng.integers(0, n, flows), rng.choice([1.0, 2.0, 3.5], flows)
    items = demands(fabric, src, dst, size)
    assume(items)
    spread = exact(fabric, items, one_port=False)
    try:
        found = compute_bounds(fabric, (src, dst, size))
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
    fabric = build_xgft(2, [3, 3], [1, 2])
    links = fabric.links
    spine = 3
    broken = keeping(fabric, ~(((links.src == 0) & (links.dst == spine)) | ((links.src == spine) & (links.dst == 0))))
    demand = np.array([0, 1, 2]), np.array([3, 4, 5]), np.ones(3)
    assert compute_bounds(fabric, demand).z_ar == 1.5
    found = optimise_routes(broken, demand, time_limit_s=0.5)
    assert found.z == pytest.approx(3) and found.z_ar == pytest.approx(3, rel=1e-6) and found.proven
    assert found.ar_gap == pytest.approx(0, abs=1e-6)


def test_a_missing_switch_counts() -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    links, spine = fabric.links, 5
    broken = keeping(fabric, (links.src != spine) & (links.dst != spine))
    found = compute_bounds(broken, load_traffic("bisection", 16, 1))
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
    fabric = without(build_quartz1(), 31, 1)
    src, dst, size = load_traffic("bisection-shuffle", 3072, 1)
    near = src < 1536
    found = compute_bounds(fabric, (src[near], dst[near], size[near]), time_limit_s=0.0)
    assert not found.exact and 0 < found.z_ar <= found.fixed


def test_a_bound_that_is_stopped_still_holds() -> None:
    fabric, demand = without(build_xgft(3, [8, 6, 4], [1, 6, 6]), 6, 1), load_traffic("noisy-shuffle", 192, 1)
    asked: list[float] = []

    def watch(seconds: float, largest: float, moves: int) -> bool:
        asked.append(seconds)
        return False

    whole, stopped = compute_bounds(fabric, demand), compute_bounds(fabric, demand, watch=watch)
    assert whole.exact and not stopped.exact and asked and min(asked) >= 0
    assert 0 < stopped.z_ar <= whole.z_ar * (1 + 1e-6)


def test_ways_are_what_the_oracle_says() -> None:
    """The oracle itself: as many ways as the tree has, each from leaf to leaf."""
    fabric = build_xgft(3, [2, 2, 2], [1, 2, 2])
    leaf, links = fabric.endpoints.router, fabric.links
    found = ways(fabric, int(leaf[0]), int(leaf[-1]))
    assert len(found) == 4 and all(links.dst[a] == links.src[b] for way in found for a, b in pairwise(way))
