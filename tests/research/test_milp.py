"""The dissertation's integer program as the oracle of small trees: no routes are better, and our search is close to it."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import coo_array

from flitwatch.command_line import cli
from flitwatch_domain.errors import TooCostly
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_research.formulations import milp
from flitwatch_research.formulations.integer import Program
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic

#: HiGHS solves each program of these tests and ends by itself, whatever the machine; the limit only ends what hangs.
UNLIMITED_S = 3600.0
TREES = [(2, [4, 4], [1, 2]), (2, [3, 4], [1, 3]), (3, [2, 2, 3], [1, 2, 2]), (3, [2, 3, 2], [1, 2, 1])]


def four_flows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two flows of 2 and two of 1 from one leaf over two ports: at best 3 on each."""
    return np.array([0, 1, 2, 3]), np.array([4, 5, 6, 7]), np.array([2.0, 2.0, 1.0, 1.0])


def test_a_small_case_by_hand() -> None:
    fabric = build_xgft(2, [4, 2], [1, 2])
    found = milp.optimise_with_highs(fabric, four_flows(), UNLIMITED_S)
    assert found.proven and found.z == pytest.approx(3)
    assert check_routes(fabric, found.ports).valid


@pytest.mark.system("numeric")
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_search_is_near_the_proven_optimum_and_bounds_are_below_it(tree: tuple, seed: int) -> None:
    fabric = build_xgft(*tree)
    rng = np.random.default_rng(seed)
    n = len(fabric.endpoints)
    demand = rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), rng.integers(1, 20, 2 * n).astype(float)
    exact = milp.optimise_with_highs(fabric, demand, UNLIMITED_S)
    assert exact.proven and check_routes(fabric, exact.ports).valid
    known = compute_bounds(fabric, demand)
    assert known.z_ar <= known.fixed * (1 + 1e-6) and known.fixed <= exact.z * (1 + 1e-5)
    near = exact.z * 1.02
    ours = optimise_routes(fabric, demand, UNLIMITED_S, seed, lambda seconds, largest, moves: largest > near)
    assert exact.z * (1 - 1e-5) <= ours.z <= near


@pytest.mark.system("numeric")
def test_each_better_set_of_routes_is_reported_with_its_time() -> None:
    fabric = build_xgft(3, [2, 2, 3], [1, 2, 2])
    rng = np.random.default_rng(1)
    n = len(fabric.endpoints)
    demand = rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n), rng.integers(1, 20, 4 * n).astype(float)
    for formulation in milp.FORMULATIONS:
        found = milp.optimise_with_highs(fabric, demand, UNLIMITED_S, formulation)
        loads, seconds = [one.z for one in found.progress], [one.seconds for one in found.progress]
        assert loads == sorted(loads, reverse=True) and seconds == sorted(seconds)
        assert loads[-1] == pytest.approx(found.z) and 0 < seconds[-1] <= found.wall_s


@pytest.mark.system("numeric")
def test_it_is_refused_where_it_would_not_end() -> None:
    with pytest.raises(TooCostly, match="binary variables"):
        milp.optimise_with_highs(build_quartz1(), load_traffic("alltoall", 3072, 1))
    # Nor does the bully of section 5.4 alone: a thousand nodes in pairs.
    nodes = np.random.default_rng(1).permutation(3072)[:1000]
    with pytest.raises(TooCostly, match="binary variables"):
        milp.optimise_with_highs(build_quartz1(), (nodes, nodes.reshape(2, 500)[::-1].ravel(), np.ones(1000)))


def test_the_command_tells_what_it_takes() -> None:
    line = [
        "routes",
        "prove",
        "--topology",
        "xgft:2;4,4;1,2",
        "--traffic",
        "bisection-shuffle",
        "--json",
    ]
    answer = json.loads(CliRunner().invoke(cli, line, catch_exceptions=False).stdout)
    assert answer["proven"] and answer["z"] == 2
    assert answer["progress"][-1]["z"] == pytest.approx(2) and answer["progress"][-1]["ar_gap"] == pytest.approx(0)


def knapsack(items: int, seed: int) -> tuple[Program, np.ndarray, np.ndarray, np.ndarray]:
    """Several full knapsacks at once: hard enough that nothing ends by itself."""
    rng = np.random.default_rng(seed)
    weight, worth = rng.integers(1, 100, (30, items)).astype(float), rng.integers(1, 100, items).astype(float)
    full = weight.sum(axis=1) / 2
    program = Program(-worth, coo_array(weight), np.full(30, -np.inf), full, np.ones(items), np.ones(items, dtype=bool))
    return program, weight, worth, full


def test_a_small_program_ends_at_its_optimum_with_its_way_there() -> None:
    # Two of three: the two most worth.
    rows = coo_array(np.ones((1, 3)))
    program = Program(
        -np.array([3.0, 1.0, 2.0]), rows, np.array([-np.inf]), np.array([2.0]), np.ones(3), np.ones(3, dtype=bool)
    )
    found = program.minimise(10.0)
    assert found.x is not None and found.x.round().tolist() == [1, 0, 1]
    assert found.value == found.bound == -5


@pytest.mark.system("numeric")
def test_what_is_handed_over_is_taken_where_it_is_better_and_left_where_it_breaks_a_rule() -> None:
    """The best known packing, handed over in a later and shorter search, is at least kept; one that is too heavy is not taken."""
    program, weight, _, full = knapsack(120, 1)
    known = program.minimise(4.0)
    assert known.x is not None and list(known.progress) == sorted(known.progress, key=lambda one: (one[0], -one[1]))
    values = [value for _, value in known.progress]
    assert values == sorted(values, reverse=True) and values[-1] == known.value
    asked: list[float] = []

    def offered() -> np.ndarray | None:
        asked.append(time.monotonic())
        return known.x

    again = program.minimise(1.0, offered=offered)
    assert len(asked) == 1 and again.value <= known.value
    heavy = program.minimise(1.0, offered=lambda: np.ones(120))
    assert heavy.x is not None and (weight @ heavy.x <= full + 1e-6).all()


def test_a_search_ends_when_it_is_asked_to() -> None:
    program, *_ = knapsack(120, 2)
    asked: list[bool] = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) > 3

    found = program.minimise(600.0, stopped)
    assert found.bound < found.value and 3 < len(asked) < 100
