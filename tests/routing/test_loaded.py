"""Routes that begin with the loaded tables and change few entries; routes with few links of the largest load."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing.lft_dumps import without
from scipy import linalg
from scipy.optimize import linprog

from flitwatch.main import main
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.generators import build_quartz1, build_xgft
from flitwatch_routing import lft, patterns
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.forwarding import check_routes, choices_of, keep_loaded_choices, tables_of
from flitwatch_routing.optimise import optimise_routes
from flitwatch_routing.patterns import load_traffic
from flitwatch_routing.reconstruction.faces import find_circles, least_sum
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import build_study, relative_error
from flitwatch_routing.tree import as_tree

TREE = (3, [8, 6, 4], [1, 6, 6])


def test_tables_that_reach_the_bound_are_left_alone() -> None:
    fabric = build_xgft(*TREE)
    demand = load_traffic("bisection", len(fabric.endpoints), 1)
    good = optimise_routes(fabric, demand, time_limit_s=5)
    assert good.proven
    again = optimise_routes(fabric, demand, time_limit_s=5, seed=9, loaded=good.ports)
    assert (again.ports == good.ports).all() and again.proven and again.moves == 0


def test_fewer_entries_change_than_in_tables_made_anew_and_fewer_still_where_less_is_asked() -> None:
    fabric = build_xgft(*TREE)
    demand = load_traffic("bisection-shuffle", len(fabric.endpoints), 3)
    loaded = ftree_tables(fabric)
    before = check_routes(fabric, loaded, demand).load[fabric.router_links()].max()
    anew = optimise_routes(fabric, demand, time_limit_s=5)
    best = optimise_routes(fabric, demand, time_limit_s=5, loaded=loaded)
    half = optimise_routes(fabric, demand, time_limit_s=5, loaded=loaded, within=0.5)
    changed = [int((one.ports != loaded).sum()) for one in (anew, best, half)]
    assert before > best.z_ar * 1.9 and best.proven and half.bound_gap is not None and half.bound_gap <= 0.5
    assert changed[0] > changed[1] > changed[2] > 0
    assert all(check_routes(fabric, one.ports, demand).valid for one in (best, half))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([(2, [3, 4], [1, 3]), (3, [2, 3, 3], [1, 2, 2]), (3, [4, 2, 2], [1, 4, 2])]),
    st.integers(0, 10_000),
    st.integers(1, 40),
)
def test_loads_are_those_of_the_tables_and_never_above_what_was_loaded(tree: tuple, seed: int, flows: int) -> None:
    fabric, rng = build_xgft(*tree), np.random.default_rng(seed)
    n = len(fabric.endpoints)
    demand = rng.integers(0, n, flows), rng.integers(0, n, flows), rng.choice([1.0, 1.5, 2.0], flows)
    loaded = random_tables(fabric, seed)
    before = check_routes(fabric, loaded, demand).load[fabric.router_links()].max(initial=0)
    found = optimise_routes(fabric, demand, time_limit_s=0.1, seed=seed, loaded=loaded)
    after = check_routes(fabric, found.ports, demand)
    assert after.valid and after.load[fabric.router_links()].max() == found.z <= before * (1 + 1e-6)
    if found.z >= before * (1 - 1e-6) and found.proven:
        assert (found.ports == loaded).all()


def test_a_failed_cable_changes_what_led_over_it() -> None:
    """Tables of the whole tree, loaded where a cable is gone: what went over it goes elsewhere, and most stays."""
    whole = build_xgft(*TREE)
    broken = without(whole, 1, seed=2)
    loaded = ftree_tables(whole)
    demand = load_traffic("bisection", len(whole.endpoints), 1)
    found = optimise_routes(broken, demand, time_limit_s=2, loaded=loaded, within=1.0)
    assert check_routes(broken, found.ports, demand).valid and not check_routes(broken, loaded, demand).valid
    assert 0 < (found.ports != loaded).sum() < loaded.size / 20


def test_choices_are_read_out_of_ports_and_back() -> None:
    fabric = build_xgft(*TREE)
    tree, ports = as_tree(fabric), random_tables(fabric, 4)
    nothing = {
        "leaf": np.zeros(0, int),
        "dest": np.zeros(0, int),
        "spine_of": np.zeros(0, int),
        **{
            name: np.zeros(tree.shape[0] * tree.shape[3] * len(fabric.endpoints), int)
            for name in ("core_of", "core_used")
        },
        **{
            name: np.zeros(tree.shape[4] * tree.shape[5] * len(fabric.endpoints), int)
            for name in ("down_of", "down_used")
        },
    }
    assert (tables_of(tree, keep_loaded_choices(tree, nothing, choices_of(tree, ports)), fabric) == ports).all()


def test_as_few_links_as_must_carry_the_most() -> None:
    """One pair sends twice as much as the others: the two links of its way must carry it, and no others need to."""
    fabric = build_xgft(2, [4, 4], [1, 4])
    src = np.arange(16)
    demand = src, (src + 4) % 16, np.where(src == 0, 2.0, 1.0)
    found = optimise_routes(fabric, demand, time_limit_s=3, fewest_worst=True)
    assert found.z == 2 and found.worst_links == 2


def test_what_goes_back_loads_no_further_link_as_much_as_the_busiest() -> None:
    fabric = build_xgft(3, [4, 4, 4], [1, 2, 2])
    loaded, rng = random_tables(fabric, 5), np.random.default_rng(5)
    demand = rng.integers(0, 64, 64), rng.integers(0, 64, 64), np.ones(64)
    plain = optimise_routes(fabric, demand, time_limit_s=4, loaded=loaded)
    found = optimise_routes(fabric, demand, time_limit_s=4, loaded=loaded, fewest_worst=True)
    assert found.z <= plain.z and found.worst_links < plain.worst_links


def test_the_command_says_what_changed(tmp_path, capsys) -> None:
    fabric = build_xgft(2, [4, 4], [1, 4])
    lft.write_dump(tmp_path / "loaded.lfts", fabric, ftree_tables(fabric))
    arguments = [
        "routes",
        "optimise",
        "--topology",
        "xgft:2;4,4;1,4",
        "--traffic",
        "bisection-shuffle",
        "--seed",
        "3",
        "--time-limit",
        "2",
        "--json",
    ]
    main([*arguments, "--loaded", str(tmp_path / "loaded.lfts"), "--out", str(tmp_path / "new.lfts")])
    report = json.loads(capsys.readouterr().out)
    new = lft.read_ports(tmp_path / "new.lfts", fabric)
    assert (
        report["changed_entries"] == (new != ftree_tables(fabric)).sum()
        and report["changed_switches"] <= report["changed_entries"]
    )
    os.mkfifo(tmp_path / "pipe")
    for wrong, words in (
        (["--out", str(tmp_path / "pipe")], "is not a regular file"),
        (["--loaded", "x", "--within", "nan"], "nan is not in the range"),
    ):
        with pytest.raises(SystemExit):
            main([*arguments, *wrong])
        assert words in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(SystemExit):
        main([*arguments, "--within", "5"])
    assert "--within is for --loaded" in capsys.readouterr().err
    with pytest.raises(BadRequest, match="distance from the bound"):
        optimise_routes(fabric, load_traffic("bisection", 16, 1), loaded=ftree_tables(fabric), within=-1.0)


# Matrices that counters and the least sum of coefficients leave equally good: found, and recognised by the estimated error.


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 4))
def test_circles_are_what_no_counter_sees(seed: int, dependent: int) -> None:
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((20, 8))
    seen = np.hstack([own, own @ rng.integers(-1, 2, (8, dependent))])
    seen = seen[:, np.abs(seen).max(axis=0) > 0]
    normal = seen.T @ seen
    scale = np.sqrt(normal.diagonal())
    scaled = normal / np.outer(scale, scale) + 1e-11 * np.eye(len(scale))
    turns = find_circles(normal, linalg.cholesky(scaled, lower=True).diagonal() ** 2)
    assert len(turns) == seen.shape[1] - np.linalg.matrix_rank(seen)
    assert np.abs(seen @ turns.T).max(initial=0) < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_very_different_sizes_and_nearly_dependent_ones_have_their_circles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((40, 12))
    close = own[:, :1] + 3e-4 * rng.standard_normal((40, 1))
    seen = np.hstack([own, close, own[:, :3] @ rng.standard_normal((3, 2))]) * 10.0 ** rng.uniform(-5, 5, 15)
    normal = seen.T @ seen
    scale = np.sqrt(normal.diagonal())
    scaled = normal / np.outer(scale, scale) + 1e-11 * np.eye(len(scale))
    turns = find_circles(normal, linalg.cholesky(scaled, lower=True).diagonal() ** 2)
    assert len(turns) == 2
    assert (
        np.linalg.norm(seen @ turns.T, axis=0) < 1e-5 * np.linalg.norm(seen * np.abs(turns).max(axis=0), axis=0).max()
    ).all()


def test_a_circle_of_pairs_is_open_both_ways() -> None:
    """1 over the first two pairs or over the last two: the middle is as far from either as can be."""
    c, turn = np.array([1.0, 1.0, 0.0, 0.0, 5.0]), np.array([[-1.0, -1.0, 1.0, 1.0, 0.0]])
    face = least_sum(c, turn, c, turn)
    assert face.c == pytest.approx([0.5, 0.5, 0.5, 0.5, 5])
    assert np.linalg.norm(face.reach, axis=1) == pytest.approx([1, 1])


def test_many_circles_are_open_together() -> None:
    """Sixteen circles, each free between 0 and 10: a matrix in the middle can be off by all of them at once."""
    c = np.full(32, 5.0)
    turns = np.hstack([np.eye(16), -np.eye(16)])
    face = least_sum(c, turns, c, turns)
    assert np.abs(face.c - 5).max() < 3
    assert np.linalg.norm(face.reach, axis=1).max() > 0.8 * np.linalg.norm(c)


def test_the_least_sum_closes_it_where_it_can() -> None:
    c, turn = np.array([0.5, 0.5, 0.25]), np.array([[-1.0, -1.0, 0.5]])
    face = least_sum(c, turn, c, turn)
    assert face.c == pytest.approx([0, 0, 0.5]) and not np.abs(face.reach).max() > 1e-6


@pytest.mark.system("numeric")
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_no_matrix_has_a_smaller_sum(seed: int, turns: int) -> None:
    rng = np.random.default_rng(seed)
    c, ways = rng.uniform(0, 3, 7).round(), rng.integers(-1, 2, (turns, 7)).astype(float)
    face = least_sum(c, ways, c, ways)
    corners = face.c + face.reach if len(face.reach) else face.c[None]
    left = np.linalg.svd(ways)[2][np.linalg.matrix_rank(ways) :]  # what the turns leave as it is
    least = linprog(np.ones(7), A_eq=left, b_eq=left @ c).fun  # pairs and coefficients are the same here, from 0
    for one in (face.c, *corners):
        assert one.min() > -1e-6 and np.abs(one).sum() == pytest.approx(least, abs=1e-5)


def even_with_rank_0(endpoints: int, rng: np.random.Generator) -> patterns.Traffic:
    src, dst, size = patterns.stencil_traffic((14, 12, 1), [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)], [1.0] * 4)
    others, root = np.arange(1, 168, dtype=np.int32), np.zeros(167, np.int32)
    return (
        np.concatenate([src, others, root]),
        np.concatenate([dst, root, others]),
        np.concatenate([size, np.full(334, 0.01)]),
    )


@pytest.mark.system("numeric")
@pytest.mark.parametrize("seed", [4, 5, 6])
def test_an_answer_that_the_counters_leave_open_says_so(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stencil and rank 0, as much to as from it, with two lanes: with seed 4 eight pairs carry as much one way round as the other."""
    fabric = build_quartz1()
    monkeypatch.setitem(patterns.PATTERNS, "partisn-168", even_with_rank_0)
    known = build_study(fabric, ftree_tables(fabric), "partisn-168", 5, 2, 1, seed)
    m = known.measured
    found = reconstruct_matrix(
        fabric, ftree_tables(fabric), m.lanes, m.pairs, m.counters, Options("od", time_limit_s=30_000)
    )
    error = relative_error(known, found)
    assert found.converged and found.estimated_error is not None
    assert error <= 1.1 * found.estimated_error + 1e-9
    assert found.estimated_error < 1e-9 if error < 1e-9 else found.estimated_error < 0.2
