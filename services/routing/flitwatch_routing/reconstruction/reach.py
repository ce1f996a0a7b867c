"""Facts about each pair from counters only: pairs without traffic, and intervals that contain the traffic of the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from flitwatch_routing.reconstruction.sensing import Groups, LinkCounters

#: Sweeps of the intervals; they tighten little after the first few.
SWEEPS = 4


def find_possible_pairs(groups: Groups, counters: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (pairs,) False if a (link, VL) on the pair's path counted nothing, so that the pair sent nothing."""
    silent: NDArray[np.bool_] = np.zeros(groups.turn_rows.shape[1] + 1, bool)
    for rows in groups.turn_rows:
        silent[:-1] |= np.asarray(counters[rows] <= 0)
    first, tail = (np.asarray(silent[turns].any(axis=1)) for turns in (groups.first_turns, groups.tail_turns))
    return ~(first[groups.first_of] | tail[groups.tail_of])


@torch.no_grad()
def compute_intervals(
    counters: LinkCounters, target: torch.Tensor, slack: torch.Tensor, go: Callable[[int], bool]
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return (low, high) of every pair: high is at most a row's rest if all its other pairs send their minimum, and the reverse for low.

    Before each sweep, go(sweep) returns whether there is time. Fewer sweeps leave wider intervals; the result is None if there was no time for one.
    """
    if not go(0):
        return None
    pairs = len(counters.adjoint(target))
    low, high = target.new_zeros(pairs), target.new_full((pairs,), torch.inf)
    for sweep in range(SWEEPS):
        if sweep and not go(sweep):
            break
        spare = target + slack - counters(low)
        high = torch.minimum(high, low + counters.smallest(spare.clamp(min=0)))
        owed = target - slack - counters(high)
        low = torch.maximum(low, high - counters.smallest(-owed)).clamp(min=0)
    return low, high
