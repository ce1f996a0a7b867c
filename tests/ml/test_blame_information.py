"""Mutual information and exact p-values against scikit-learn, scipy and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control, fisher_exact
from sklearn.metrics import mutual_info_score

from flitwatch_domain.blame import benjamini_hochberg
from flitwatch_ml.blame.information import association_sign, exact_p_values, mutual_information_bits

runs_and_users = st.tuples(st.integers(2, 30), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(arrays(bool, shape), arrays(bool, shape[0]))
)


@pytest.mark.system("numeric")
@given(runs_and_users)
def test_information_equals_scikit_learns_and_is_never_negative(case) -> None:
    present, slow = case
    bits = mutual_information_bits(present, slow)
    oracle = [mutual_info_score(column, slow) / np.log(2) for column in present.T]
    assert np.allclose(bits, oracle, atol=1e-12)
    assert (bits >= 0).all()


@given(runs_and_users)
def test_information_is_symmetric(case) -> None:
    present, slow = case
    assert np.allclose(
        mutual_information_bits(present[:, :1], slow), mutual_information_bits(slow[:, None], present[:, 0])
    )


def test_information_of_independent_variables_is_zero_and_of_equal_ones_is_their_entropy() -> None:
    present, slow = np.array(list(itertools.product([False, True], repeat=2))).T
    assert mutual_information_bits(present[:, None], slow)[0] == pytest.approx(0, abs=1e-15)
    assert mutual_information_bits(slow[:, None], slow)[0] == pytest.approx(1)


@given(runs_and_users)
def test_p_values_equal_fishers_exact_test(case) -> None:
    present, slow = case
    for column, p in zip(present.T, exact_p_values(present, slow), strict=True):
        table = [[(column & slow).sum(), (column & ~slow).sum()], [(~column & slow).sum(), (~column & ~slow).sum()]]
        assert p == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-9)


def test_stratified_p_values_equal_enumeration_of_all_relabelings() -> None:
    rng = np.random.default_rng(5)
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    slow = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1], bool)
    present = rng.random((9, 4)) < 0.5
    counts = []
    for first in itertools.combinations(range(4), 2):
        for second in itertools.combinations(range(4, 9), 2):
            relabelled = np.zeros(9, bool)
            relabelled[[*first, *second]] = True
            counts.append(present[relabelled].sum(0))
    oracle = (np.array(counts) >= present[slow].sum(0)).mean(0)
    assert np.allclose(exact_p_values(present, slow, strata), oracle)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_q_values_equal_scipys(p_values) -> None:
    assert np.allclose(benjamini_hochberg(np.array(p_values)), false_discovery_control(p_values))


def test_q_values_leave_the_untestable_out() -> None:
    q_values = benjamini_hochberg(np.array([0.01, np.nan, 0.02]))
    assert np.isnan(q_values[1])
    assert np.allclose(q_values[[0, 2]], [0.02, 0.02])


def test_sign_tells_presence_in_slow_runs_from_presence_in_fast_ones() -> None:
    slow = np.array([1, 1, 0, 0], bool)
    present = np.stack([slow, ~slow, np.array([1, 0, 1, 0], bool)], axis=1)
    assert association_sign(present, slow).tolist() == [1, -1, 0]


def test_exact_p_values_agree_with_permutations_within_strata() -> None:
    rng = np.random.default_rng(1)
    present, slow, strata = rng.random((120, 40)) < 0.3, rng.random(120) < 0.4, rng.integers(0, 5, 120)
    exact = exact_p_values(present, slow, strata)
    shuffled = np.empty((20_000, 120), np.int64)
    shuffled[:, np.argsort(strata, kind="stable")] = slow[np.argsort(rng.random(shuffled.shape) + strata, axis=1)]
    estimate = (shuffled @ present >= slow @ present.astype(int)).mean(0)
    assert np.abs(estimate - exact).max() < 5 * np.sqrt(0.25 / 20_000)
