"""Routes for time slots: the sum of the slots' largest loads, against every table of small trees, their own check, and phases that one matrix hides."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing.broken import without

from flitwatch.main import main
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic

Traffic = tuple[np.ndarray, np.ndarray, np.ndarray]


def busiest(fabric: Fabric, ports: np.ndarray, slots: list[Traffic]) -> list[float]:
    between = fabric.router_links()
    return [float(check_routes(fabric, ports, one).load[between].max(initial=0)) for one in slots]


def random_slots(fabric: Fabric, rng: np.random.Generator, flows: list[int]) -> list[Traffic]:
    n = len(fabric.endpoints)
    return [(rng.integers(0, n, f), rng.integers(0, n, f), rng.choice([1.0, 2.0, 3.5], f)) for f in flows]


@pytest.mark.system("numeric")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 6), min_size=2, max_size=3))
def test_no_tables_of_a_small_tree_are_better(seed: int, flows: list[int]) -> None:
    """Four leaves of one host under two spines: all 2^12 choices of a spine for a leaf and a destination."""
    fabric = build_xgft(2, [1, 4], [1, 2])
    slots = random_slots(fabric, np.random.default_rng(seed), flows)
    least = np.inf
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    weight = np.zeros((len(slots), 4, 4))
    for number, (src, dst, size) in enumerate(slots):
        np.add.at(weight[number], (src, dst), np.where(src == dst, 0.0, size))
    for choice in itertools.product((0, 1), repeat=len(pairs)):
        load = np.zeros((len(slots), 2, 2, 4))
        for (a, b), spine in zip(pairs, choice, strict=True):
            load[:, 0, spine, a] += weight[:, a, b]
            load[:, 1, spine, b] += weight[:, a, b]
        least = min(least, float(load.max(axis=(1, 2, 3)).sum()))
    found = optimise_routes(
        fabric, slots[0], 240.0, 1, lambda seconds, z, moves: z > least * (1 + 1e-6), later=slots[1:]
    )
    assert found.z == pytest.approx(least)
    assert found.fixed_bound <= least * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([(2, [4, 4], [1, 4]), (3, [4, 4, 2], [1, 4, 4]), (3, [8, 6, 4], [1, 6, 6])]),
    st.integers(0, 10_000),
    st.lists(st.integers(0, 40), min_size=1, max_size=5),
    st.integers(0, 4),
)
def test_loads_of_slots_are_those_of_the_tables(tree: tuple, seed: int, flows: list[int], cables: int) -> None:
    fabric = (
        without(build_xgft(*tree), cables, seed) if tree[1][0] == 8 else build_xgft(*tree)
    )  # smaller ones fall apart
    slots = random_slots(fabric, np.random.default_rng(seed), flows)
    found = optimise_routes(fabric, slots[0], time_limit_s=0.3, seed=seed, later=slots[1:])
    assert check_routes(fabric, found.ports).valid
    assert [one.z for one in found.slots] == pytest.approx(busiest(fabric, found.ports, slots))
    assert found.z == pytest.approx(sum(one.z for one in found.slots))
    assert found.z_ar * (1 - 1e-6) <= found.fixed_bound <= found.z * (1 + 1e-9)
    assert all(one.z_ar * (1 - 1e-6) <= one.fixed_bound <= one.z * (1 + 1e-9) for one in found.slots)
    assert found.z <= sum(busiest(fabric, ftree_tables(fabric), slots)) * (1 + 1e-6)


@pytest.mark.parametrize("seed", [2, 8, 14, 20, 25])
def test_a_search_without_time_is_no_worse_than_ftree(seed: int) -> None:
    fabric = without(build_xgft(3, [8, 6, 4], [1, 6, 6]), 2, seed)
    slots = random_slots(fabric, np.random.default_rng(seed), [37, 12])
    found = optimise_routes(fabric, slots[0], time_limit_s=1e-3, seed=seed, later=slots[1:])
    assert found.z <= sum(busiest(fabric, ftree_tables(fabric), slots)) * (1 + 1e-6)
    assert [one.z for one in found.slots] == pytest.approx(busiest(fabric, found.ports, slots))


def test_phases_that_one_matrix_hides_are_each_balanced() -> None:
    """Section 5.3 (Taffet 2021): routes for the sum put many of a phase's flows on few links; routes for the phases need not, here not at all."""
    fabric = build_quartz1()
    slots = [load_traffic("bisection-shuffle", 3072, seed) for seed in (1, 2, 3)]
    src, dst, size = (np.concatenate(column) for column in zip(*slots, strict=True))
    hidden = optimise_routes(fabric, (src, dst, size), time_limit_s=10)
    found = optimise_routes(fabric, slots[0], time_limit_s=240, later=slots[1:])
    assert found.proven and found.ar_gap == pytest.approx(0, abs=1e-9)
    assert sum(busiest(fabric, hidden.ports, slots)) > 2 * found.z


def test_a_slot_without_traffic_between_switches_changes_nothing() -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    slot = load_traffic("bisection", 16, 1)
    inside = np.array([0, 1]), np.array([1, 0]), np.array([5.0, 5.0])
    alone = optimise_routes(fabric, slot, time_limit_s=60)
    beside = optimise_routes(fabric, inside, time_limit_s=60, later=[slot])
    assert alone.proven and beside.proven and (beside.ports == alone.ports).all()
    assert beside.slots[0].z == 0 and beside.slots[0].ar_gap is None


def test_slots_keep_loaded_tables_that_are_good_for_each() -> None:
    fabric = build_xgft(3, [8, 6, 4], [1, 6, 6])
    slots = random_slots(fabric, np.random.default_rng(3), [60, 60])
    good = optimise_routes(fabric, slots[0], time_limit_s=3, later=slots[1:])
    again = optimise_routes(fabric, slots[0], time_limit_s=1, later=slots[1:], loaded=good.ports, within=1.0)
    assert (again.ports == good.ports).all() and again.z == good.z


def test_the_command_takes_traffic_for_every_slot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in (("a", "0,5,10\n1,6,10\n"), ("b", "0,6,4\n1,5,4\n")):
        (tmp_path / name).write_text("src,dst,bytes\n" + lines)
    both = ["--traffic", str(tmp_path / "a"), "--traffic", str(tmp_path / "b"), "--json"]
    dump = str(tmp_path / "routes.lfts")
    tree = ["--topology", "xgft:2;4,4;1,4"]
    main(["routes", "optimise", *tree, *both, "--time-limit", "2", "--out", dump])
    found = json.loads(capsys.readouterr().out)
    assert found["z"] == pytest.approx(14) and found["proven"] and [one["z"] for one in found["slots"]] == [10, 4]
    main(["routes", "baselines", *tree, *both])
    assert json.loads(capsys.readouterr().out)["ftree_gap"] is not None
    main(["routes", "check", dump, *tree, *both])
    checked = json.loads(capsys.readouterr().out)
    assert checked["max_load"] == pytest.approx(14) and [one["max_load"] for one in checked["slots"]] == [10, 4]


@pytest.mark.system("numeric")
def test_a_slot_that_cannot_come_near_is_paid_for_by_the_others() -> None:
    """Three destinations of a leaf in pairs, two spines: one slot must carry twice its bound, and the others can carry theirs."""
    fabric = build_xgft(2, [4, 4], [1, 2])
    slots = [
        (np.array([0, 1, 4, 5]), np.array(to), np.array([100.0, 100.0, 65.0, 65.0]))
        for to in ([4, 8, 13, 15], [4, 12, 9, 11], [8, 12, 5, 7])
    ]
    slots[2] = (np.array([0, 1, 8, 9]), *slots[2][1:])
    enough = 300 * 1.34
    loaded = ftree_tables(fabric)
    found = optimise_routes(
        fabric, slots[0], 240.0, 1, lambda seconds, z, moves: z > enough, later=slots[1:], loaded=loaded, within=0.34
    )
    assert found.z == pytest.approx(400) == sum(busiest(fabric, found.ports, slots))
