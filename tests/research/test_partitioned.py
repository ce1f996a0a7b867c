"""Comparison of chapter 3's formulations: the dissertation's own case, valid tables, and their possible order."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from flitwatch.command_line import cli
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_domain.generators.tree import core_groups
from flitwatch_research.formulations import milp, partitioned
from flitwatch_routing.bounds import compute_bounds
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.patterns import load_traffic

#: HiGHS solves each program of these tests and ends by itself, whatever the machine; the limit only ends what hangs.
UNLIMITED_S = 3600.0


def grouped(pods: int = 2, leaves: int = 4, spines: int = 4, groups: int = 1, cores: int = 4, hosts: int = 4) -> Fabric:
    return core_groups("tree", "test", pods, leaves, spines, groups, cores, hosts)


def figure_3_3() -> tuple[Fabric, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Leaves 2, 3 and 4 send 5 to h1, leaf 4 also 5 to h2, a leaf of the other pod 15 to h3; h1 to h3 are leaf 1's."""
    src = np.array([4, 8, 12, 13, 16])
    return grouped(), (src, np.array([0, 0, 0, 1, 2]), np.array([5.0, 5.0, 5.0, 5.0, 15.0]))


def test_the_dissertations_own_case_is_found_at_its_optimum_by_the_basic_form_alone() -> None:
    fabric, demand = figure_3_3()
    z = {name: milp.optimise_with_highs(fabric, demand, UNLIMITED_S, name) for name in milp.FORMULATIONS}
    assert z["basic"].proven and z["basic"].z == pytest.approx(15)
    # Small flows are spread over all links to the leaf, so that the large one meets one of them.
    assert z["partitioned"].z == pytest.approx(20) and not z["partitioned"].proven
    assert z["combined"].proven and z["combined"].z == pytest.approx(15)


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", range(4))
def test_all_forms_are_valid_and_none_is_better_than_the_proven_optimum(seed: int) -> None:
    fabric = grouped(pods=3, leaves=3, spines=4, groups=2, cores=2, hosts=3)
    rng = np.random.default_rng(seed)
    n = len(fabric.endpoints)
    demand = rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), rng.integers(1, 20, 2 * n).astype(float)
    found = {name: milp.optimise_with_highs(fabric, demand, UNLIMITED_S, name) for name in milp.FORMULATIONS}
    least = compute_bounds(fabric, demand).fixed
    for one in found.values():
        assert check_routes(fabric, one.ports).valid
        assert one.z >= least * (1 - 1e-6)
    # What is chosen step by step is never better than the whole, and what has its routes to beat is never worse.
    assert found["combined"].z <= found["partitioned"].z * (1 + 1e-6)
    if found["basic"].proven:
        assert found["basic"].z <= found["combined"].z * (1 + 1e-5)
    assert found["partitioned"].z <= 1.5 * found["basic"].z


def test_tables_as_variables_keep_every_rule_of_the_basic_form() -> None:
    """What the combined form hands over: HiGHS leaves aside what breaks a rule, so that a wrong one would never be seen."""
    fabric, demand = figure_3_3()
    program = milp._build_program(fabric, demand)
    offered = program.solution(fabric, partitioned.partitioned_tables(fabric, demand, UNLIMITED_S))
    assert offered[-1] * program.unit == pytest.approx(20)
    model = milp._build_model(program)
    lower, rows, upper = model.lower, model.rows @ offered, model.upper
    assert (rows >= lower - 1e-9).all() and (rows <= upper + 1e-9).all() and (offered <= model.most).all()


@pytest.mark.system("numeric")
@pytest.mark.parametrize("pattern", ["bisection", "bisection-shuffle", "alltoall"])
def test_unforgiving_patterns_are_spread_evenly_by_the_partitioned_form(pattern: str) -> None:
    # Table 3.2: 0.00 % for these patterns.
    fabric = grouped(pods=2, leaves=4, spines=4, groups=2, cores=4, hosts=4)
    found = milp.optimise_with_highs(
        fabric, load_traffic(pattern, len(fabric.endpoints), 1), UNLIMITED_S, "partitioned"
    )
    assert found.ar_gap == pytest.approx(0, abs=1e-6) and check_routes(fabric, found.ports).valid


def test_core_groups_share_a_leafs_traffic() -> None:
    fabric = grouped(pods=2, leaves=2, spines=2, groups=2, cores=1, hosts=2)
    # Two flows of one leaf to the other pod: with one core a group, each must have its own.
    demand = np.array([0, 1]), np.array([4, 5]), np.array([3.0, 3.0])
    assert milp.optimise_with_highs(fabric, demand, UNLIMITED_S, "partitioned").z == pytest.approx(3)


def test_quartz_is_the_tree_that_it_was() -> None:
    fabric = build_quartz1()
    assert (len(fabric.endpoints), len(fabric.routers), len(fabric.links)) == (3072, 208, 12288)


@pytest.mark.parametrize("fabric", [build_xgft(2, [4, 4], [1, 2]), build_xgft(3, [2, 2, 2], [1, 2, 2], [1, 2, 1])])
def test_other_trees_are_refused_with_what_to_do(fabric: Fabric) -> None:
    demand = np.array([0]), np.array([len(fabric.endpoints) - 1]), np.array([1.0])
    with pytest.raises(BadRequest, match="three levels with one cable"):
        partitioned.partitioned_tables(fabric, demand, 5.0)
    with pytest.raises(BadRequest, match="unknown formulation"):
        milp.optimise_with_highs(fabric, demand, 5.0, "sos")


def test_no_traffic_and_traffic_within_leaves_need_no_program() -> None:
    fabric = grouped()
    here = np.array([0]), np.array([1]), np.array([9.0])
    assert milp.optimise_with_highs(fabric, here, 5.0, "combined").z == 0


def test_the_command_names_the_formulation() -> None:
    line = [
        "routes",
        "prove",
        "--topology",
        "xgft:3;2,2,2;1,2,2",
        "--traffic",
        "bisection",
        "--json",
    ]
    for form in milp.FORMULATIONS:
        answer = json.loads(CliRunner().invoke(cli, [*line, "--formulation", form], catch_exceptions=False).stdout)
        assert answer["ar_gap"] == pytest.approx(0, abs=1e-6)
