"""Correlations of permutations and their p-values, against manual calculations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from flitwatch_ml.blame.blocks import block_orders, block_p_values, design_effect, permuted_correlations
from ml.golden_figures import problem


def test_permuted_correlations_by_hand() -> None:
    made = problem(8, 2)
    orders = np.array([np.arange(8), np.arange(8)[::-1]])
    seen, other = permuted_correlations(made, orders)
    r = np.array([np.corrcoef(made.regressors[:, user], made.outcome)[0, 1] for user in range(2)])
    back = np.array([np.corrcoef(made.regressors[:, user], made.outcome[::-1])[0, 1] for user in range(2)])
    assert seen == pytest.approx(r) and other[0] == pytest.approx(r) and other[1] == pytest.approx(back)
    p = block_p_values(made, orders, np.array([0, 1]))
    assert p == pytest.approx((1 + 1 + (back >= r)) / 3)
    rng = np.random.default_rng(0)
    many = block_orders(np.repeat(np.arange(4), 2), 50, rng)
    assert np.array_equal(np.sort(many, axis=1), np.tile(np.arange(8), (50, 1)))
    spread = permuted_correlations(made, many)[1].std(0) * math.sqrt(7)
    assert design_effect(made, [many]) == pytest.approx(np.maximum(spread, 1))
    assert design_effect(made, []).tolist() == [1, 1]


def test_a_user_without_exposure_has_no_correlation() -> None:
    made = problem(8, 2)
    made.regressors[:, 1] = 0
    with np.errstate(all="raise"):
        assert permuted_correlations(made, np.arange(8)[None])[0][1] == 0
