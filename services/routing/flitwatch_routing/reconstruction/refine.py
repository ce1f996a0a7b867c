"""The last step: a fit of the counters on the solver's support by conjugate gradients. Also facts about each pair from counters only."""

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


#: Values below this share of the largest are not traffic; the smallest share with a valid fit is used.
SUPPORTS = (1e-2, 1e-3, 1e-4)
STEPS = 100


@torch.no_grad()
def refine_support(
    sensing: LinkCounters, x: torch.Tensor, target: torch.Tensor, slack: torch.Tensor, go: Callable[[int], bool]
) -> torch.Tensor:
    """Return x, or its fit on a smaller support if that explains the counters better. Before every step, go(step) returns whether there is time."""
    if float(slack.max()) > 0 or not go(0):
        return x
    best, best_wrong = x, _misfit_norm(sensing, x, target, slack)
    for part in SUPPORTS:
        if not go(0):
            break
        inside = (x > part * x.max()).to(x)
        fit = _fit_places(sensing, x * inside, inside, target, go).clamp(min=0)
        wrong = _misfit_norm(sensing, fit, target, slack)
        if wrong < 0.5 * best_wrong:
            best, best_wrong = fit, wrong
    return best


def _misfit_norm(sensing: LinkCounters, x: torch.Tensor, target: torch.Tensor, slack: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(((sensing(x) - target).abs() - slack).clamp(min=0)))


def _fit_places(
    sensing: LinkCounters, x: torch.Tensor, inside: torch.Tensor, target: torch.Tensor, go: Callable[[int], bool]
) -> torch.Tensor:
    """Return least squares from x over the places `inside`: conjugate gradients on the normal equations, with monotone improvement."""
    r = inside * sensing.adjoint(target - sensing(x))
    p, square = r, float(r @ r)
    start = square
    for step in range(STEPS):
        if square <= 1e-24 * max(start, 1e-300) or not go(step):
            break
        q = sensing(p)
        energy = float(q @ q)
        if energy <= 0:
            break
        x = x + (square / energy) * p
        r = r - (square / energy) * (inside * sensing.adjoint(q))
        square, before = float(r @ r), square
        p = r + (square / before) * p
    return x
