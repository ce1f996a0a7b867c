"""Matrices that counters and the least sum of coefficients leave equally good: found, and told by the estimated error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from scipy.optimize import linprog

from flitwatch_domain.generators import build_quartz1
from flitwatch_routing import patterns
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.reconstruction.faces import find_circles, least_sum
from flitwatch_routing.reconstruction.recover import Options, reconstruct_matrix
from flitwatch_routing.reconstruction.study import build_study, relative_error


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
