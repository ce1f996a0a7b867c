"""Baseline tables: minhop equals OpenSM's, greedy moves end when no move helps, and damaged trees have figures too."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from noise_core import flow_ibsim
from routing import opensm
from routing.lft_dumps import is_tree, keeping, without

from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing import lft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.compared import BASELINES, compare_baselines, minhop_tables
from flitwatch_routing.deadlock import find_dependencies
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.greedy import greedy_tables
from flitwatch_routing.patterns import load_traffic

TREES = [(2, [3, 4], [1, 3]), (3, [2, 3, 3], [1, 2, 2]), (3, [4, 2, 2], [1, 4, 2])]


def random_traffic(endpoints: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, endpoints, 60), rng.integers(0, endpoints, 60), rng.choice([1.0, 1.1, 2.0, 3.5], 60)


def largest(fabric, ports, demand) -> float:
    return float(check_routes(fabric, ports, demand).load[fabric.router_links()].max())


@pytest.mark.parametrize(("pattern", "by_opensm"), [("bisection", 16), ("bisection-shuffle", 25)])
def test_minhop_loads_quartz1_as_opensm_does(pattern: str, by_opensm: int) -> None:
    """As measured of a real OpenSM, whose shuffle was another: within two flows."""
    fabric = build_quartz1()
    assert largest(fabric, minhop_tables(fabric), load_traffic(pattern, 3072, 1)) == pytest.approx(by_opensm, abs=2)


@pytest.mark.system("schedulers")
@pytest.mark.integration
@pytest.mark.parametrize("cables", [0, 3])
@pytest.mark.parametrize("tree", [(2, [6, 6], [1, 3]), (3, [4, 4, 3], [1, 2, 2])])
def test_minhop_tables_are_those_of_a_real_opensm(tmp_path: Path, tree: tuple, cables: int) -> None:
    flow_ibsim.require()
    fabric = without(build_xgft(*tree), cables, seed=2)
    host = lft.list_guids(fabric)[1][0] - 1
    dump, _ = flow_ibsim.run_opensm(opensm.ibsim_text(fabric), "minhop", tmp_path, host=host, discover=False)
    assert (lft.read_ports(dump, fabric) == minhop_tables(fabric)).all()


@pytest.mark.system("numeric")
def test_greedy_moves_come_to_what_was_published_for_afar() -> None:
    """Taffet 2021, table 3.3: 49.6 % of the noisy shuffle, 100 % of another shuffle, ftree about 250 %; nothing to move on a bisection."""
    fabric = build_quartz1()
    for pattern, low, high in (("noisy-shuffle", 0.3, 0.7), ("bisection-shuffle", 0.49, 1.01), ("bisection", 0, 1e-9)):
        demand = load_traffic(pattern, 3072, 1)
        z_ar = compute_bounds(fabric, demand, packing=False).z_ar
        ports = greedy_tables(fabric, demand)
        assert check_routes(fabric, ports).valid
        assert low <= largest(fabric, ports, demand) / z_ar - 1 <= high


@pytest.mark.system("numeric")
@settings(max_examples=30, deadline=None)
@given(st.sampled_from(TREES), st.integers(0, 3), st.integers(0, 10_000))
def test_greedy_never_does_worse_than_ftree_and_goes_up_and_down(tree: tuple, cables: int, seed: int) -> None:
    fabric = without(build_xgft(*tree), cables, seed)
    assume(is_tree(fabric))
    demand = random_traffic(len(fabric.endpoints), seed)
    start, ports = ftree_tables(fabric), greedy_tables(fabric, demand)
    before, after = check_routes(fabric, start, demand), check_routes(fabric, ports, demand)
    assert (after.holes, after.loops) == (before.holes, 0)
    assert not find_dependencies(fabric, ports).cycle
    assert after.load.sum() == pytest.approx(before.load.sum())  # as many hops
    assert largest(fabric, ports, demand) <= largest(fabric, start, demand) * (1 + 1e-9)


@pytest.mark.system("numeric")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_no_single_move_from_where_greedy_ends_helps(seed: int) -> None:
    fabric = build_xgft(2, [3, 4], [1, 3])
    demand = random_traffic(12, seed)
    ports = greedy_tables(fabric, demand)
    here = largest(fabric, ports, demand)
    for leaf in range(4):
        ups = np.unique(ports[leaf, [d for d in range(12) if d // 3 != leaf]])
        for dest in (d for d in range(12) if d // 3 != leaf):
            for port in ups.tolist():
                other = ports.copy()
                other[leaf, dest] = port
                assert largest(fabric, other, demand) >= here * (1 - 1e-9)


def test_all_baselines_have_figures_on_a_broken_tree() -> None:
    fabric = without(build_xgft(3, [8, 6, 4], [1, 6, 6]), 12, seed=1)
    demand = load_traffic("bisection-shuffle", len(fabric.endpoints), 1)
    loads = compare_baselines(fabric, [demand], seed=1)
    assert set(loads) == set(BASELINES)
    z_ar = compute_bounds(fabric, demand, packing=False).z_ar
    assert all(load is not None and math.isfinite(load) and load >= z_ar * (1 - 1e-9) for load in loads.values())


def test_a_baseline_that_loses_traffic_has_no_figure() -> None:
    """leaf0 hangs on spine0 alone, leaf1 on spine1: up and down there is no way, but minhop goes over another leaf."""
    fabric = build_xgft(2, [2, 3], [1, 2])
    links, gone = fabric.links, ((0, 4), (4, 0), (1, 3), (3, 1))
    fabric = keeping(
        fabric, np.array([pair not in gone for pair in zip(links.src.tolist(), links.dst.tolist(), strict=True)])
    )
    loads = compare_baselines(fabric, [(np.array([0]), np.array([2]), np.array([5.0]))], seed=1)
    assert loads == {"ftree": None, "random": None, "greedy": None, "minhop": 5.0}
