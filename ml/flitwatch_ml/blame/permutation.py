"""Permutation p-values of many users at once, with labels permuted within strata, as matrix products.

For binary presence the exact distribution is available (`information.exact_p_values`). These p-values support continuous exposure and any response.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flitwatch_ml.blame.strata import centre_values

Floats = NDArray[np.float64]
#: Permutations per block, so that a block of products fits into the cache.
BLOCK = 1024


def permutation_p_values(
    regressors: ArrayLike,
    outcome: ArrayLike,
    strata: ArrayLike | None = None,
    permutations: int = 10_000,
    seed: int = 0,
) -> Floats:
    """Return one-sided p-values (users,) of the covariance of each column of `regressors` (runs, users) with `outcome` (runs,).

    Add-one estimates: the minimum is 1 / (permutations + 1). Computed in single precision: ties within rounding count against the user.
    """
    outcome = np.asarray(outcome, float)
    groups = (
        np.zeros(len(outcome), np.int64) if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1]
    )
    columns = np.ascontiguousarray(centre_values(np.asarray(regressors, float), groups), np.float32)
    response = centre_values(outcome, groups).astype(np.float32)
    observed = response @ columns
    slack = 1e-5 * np.linalg.norm(response) * np.linalg.norm(columns, axis=0)
    reached = np.zeros(columns.shape[1], np.int64)
    rng = np.random.default_rng(seed)
    place = np.argsort(groups, kind="stable")
    ordered = groups[place].astype(np.float32)
    for start in range(0, permutations, BLOCK):
        block = min(BLOCK, permutations - start)
        keys = rng.random((block, len(outcome)), dtype=np.float32) + 2 * ordered  # sorting keys shuffles within strata
        shuffled = np.empty((block, len(outcome)), np.float32)
        shuffled[:, place] = response[place][np.argsort(keys, axis=1)]
        reached += (shuffled @ columns >= observed - slack).sum(0)
    return (reached + 1) / (permutations + 1)
