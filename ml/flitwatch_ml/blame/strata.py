"""Strata of start times, and centring within them, which removes users who work only when the machine is busy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

Floats = NDArray[np.float64]
DAY_S = 86_400.0


def hour_and_weekend(start_s: ArrayLike, hours: int = 6) -> NDArray[np.int64]:
    """Return the stratum of each run: part of the day (`hours` long) and weekend or not.

    `start_s` is local time in seconds since a Thursday's midnight (the epoch was one), shape (runs,).
    """
    if 24 % hours:
        raise ValueError(f"hours must divide 24, not {hours}")
    start = np.asarray(start_s, float)
    part = np.floor((start % DAY_S) / (hours * 3600)).astype(np.int64)
    weekday = (np.floor(start / DAY_S).astype(np.int64) + 3) % 7  # 0 is Monday
    return part + (24 // hours) * (weekday >= 5)


def day_numbers(start_s: ArrayLike) -> NDArray[np.int64]:
    """Return the day of each run, shape (runs,): runs of one day share co-runners."""
    return np.floor(np.asarray(start_s, float) / DAY_S).astype(np.int64)


def centre_values(values: Floats, strata: NDArray[np.int64]) -> Floats:
    """Return `values` (runs, ...) minus the mean of their stratum."""
    values = np.array(values, float)
    _, index = np.unique(strata, return_inverse=True)
    sizes = np.bincount(index)
    sums = np.zeros((len(sizes), *values.shape[1:]))
    np.add.at(sums, index, values)
    return values - (sums / sizes.reshape(-1, *[1] * (values.ndim - 1)))[index]


def normal_scores(values: Floats) -> Floats:
    """Return ranks (with ties averaged) mapped to normal quantiles, shape (runs,), so that one outlier cannot dominate the result."""
    return norm.ppf((rankdata(values) - 0.5) / len(values))
