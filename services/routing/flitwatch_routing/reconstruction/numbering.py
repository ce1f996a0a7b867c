"""Numbering of keys as in `numpy.unique`, but with a table for dense keys, which is ten times as fast for millions of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
#: Limits of a table's size: number of keys plus this many, and number of keys times this.
MORE, TIMES = 1 << 20, 8


def number_keys(key: NDArray[np.integer], bound: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return (distinct keys in ascending order, index of every key among them) for keys from 0 to below a bound."""
    if bound > TIMES * len(key) + MORE:
        distinct, of = np.unique(key, return_inverse=True)
        return distinct, of.astype(np.int32)
    used = np.zeros(bound, bool)
    used[key] = True
    distinct = np.flatnonzero(used)
    return distinct, places_among(distinct, bound)[key]


def places_among(distinct: Ints, bound: int) -> NDArray[np.int32]:
    """Return (bound,) the index of every number among ascending distinct ones; len(distinct) if it is missing."""
    table = np.full(bound, len(distinct), np.int32)
    table[distinct] = np.arange(len(distinct), dtype=np.int32)
    return table
