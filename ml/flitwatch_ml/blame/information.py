"""Exact mutual information of binary variables, and exact p-values of their association.

For binary presence and binary optimality the permutation distribution of the 2 x 2 table is hypergeometric, so p-values
need no permutations. With strata, the number of slow runs among the present ones is a sum of independent hypergeometric
variables, with the convolution as its distribution.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def _n_log2_n(count: ArrayLike) -> Floats:
    """Return n log2 n, with 0 log 0 = 0."""
    counts = np.asarray(count, float)
    return counts * np.log2(np.where(counts > 0, counts, 1.0))


def mutual_information_bits(present: Bools, slow: Bools) -> Floats:
    """Return mutual information of each column of `present` with `slow`, in bits (Bhatele 2020, section IV-A).

    Parameters
    ----------
    present : bool, shape (runs, users)
    slow : bool, shape (runs,)

    Returns
    -------
    float64, shape (users,); between 0 and 1, exactly 0 for a constant column or a constant `slow`.
    """
    runs = len(slow)
    if runs == 0:
        return np.zeros(present.shape[1])
    both = present[slow].sum(0, dtype=np.int64)
    n_present = present.sum(0, dtype=np.int64)
    n_slow = int(slow.sum())
    cells = (both, n_present - both, n_slow - both, runs - n_present - n_slow + both)
    joint = np.add.reduce([_n_log2_n(cell) for cell in cells])
    margins = np.add.reduce([_n_log2_n(n_present), _n_log2_n(runs - n_present)])
    margins += float(_n_log2_n(n_slow) + _n_log2_n(runs - n_slow))
    bits = (joint - margins + float(_n_log2_n(runs))) / runs
    constant = (n_present == 0) | (n_present == runs) | (n_slow in (0, runs))
    return np.where(constant, 0.0, np.maximum(bits, 0.0))


def association_sign(present: Bools, slow: Bools) -> Ints:
    """Return +1 if presence is associated with slow runs, -1 with optimal runs, 0 with neither; shape (users,)."""
    both = present[slow].sum(0, dtype=np.int64)
    return np.sign(both * len(slow) - present.sum(0, dtype=np.int64) * int(slow.sum()))


@lru_cache(maxsize=65536)
def _hypergeometric_distribution(total: int, slow: int, drawn: int) -> tuple[int, Floats]:
    """Return the least value and the probabilities of the number of slow runs among `drawn` of `total` runs with `slow` slow ones."""
    low, high = max(0, drawn + slow - total), min(drawn, slow)
    k = np.arange(low, high + 1)

    # Only the terms that depend on k are needed, because the probabilities sum to one.
    logs = -gammaln(k + 1) - gammaln(slow - k + 1) - gammaln(drawn - k + 1) - gammaln(total - slow - drawn + k + 1)
    probabilities = np.exp(logs - logs.max())
    return low, probabilities / probabilities.sum()


def exact_p_values(present: Bools, slow: Bools, strata: Ints | None = None) -> Floats:
    """Return P(at least as many slow runs among the present ones) for labels permuted within strata.

    Parameters
    ----------
    present : bool, shape (runs, users)
    slow : bool, shape (runs,)
    strata : int, shape (runs,), optional; without it all runs are one stratum.

    Returns
    -------
    float64, shape (users,): one-sided, exact; 1 if the margins allow only one table.
    """
    strata = np.zeros(len(slow), np.int64) if strata is None else np.asarray(strata)
    labels = np.unique(strata)
    totals = [int((strata == label).sum()) for label in labels]
    slows = [int(slow[strata == label].sum()) for label in labels]
    drawn = np.stack([present[strata == label].sum(0, dtype=np.int64) for label in labels], axis=1)
    observed = present[slow].sum(0, dtype=np.int64)
    tails: dict[tuple[int, ...], tuple[int, Floats]] = {}
    p_values = np.empty(present.shape[1])
    for user, margins in enumerate(map(tuple, drawn.tolist())):
        if margins not in tails:
            tails[margins] = _upper_tail(totals, slows, margins)
        low, tail = tails[margins]
        p_values[user] = tail[observed[user] - low]
    return np.minimum(p_values, 1.0)


def _upper_tail(totals: list[int], slows: list[int], drawn: tuple[int, ...]) -> tuple[int, Floats]:
    low, probabilities = 0, np.ones(1)
    for total, slow, n in zip(totals, slows, drawn, strict=True):
        if n:
            least, part = _hypergeometric_distribution(total, slow, n)
            low += least
            probabilities = np.convolve(probabilities, part)
    return low, np.cumsum(probabilities[::-1])[::-1]
