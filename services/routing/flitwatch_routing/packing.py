"""Lower bound on the load of a leaf's busiest port when each entry of the leaf takes one port, from packing entries into ports.

Entries fit ports of a capacity only if the linear program of cutting stock (Gilmore and Gomory 1961) needs no more ports than there are: columns are sets of
entries that one port may carry. What is believed is not the solver's answer but its prices: if no set within the capacity is worth more than one, then as many
ports are needed as all entries are worth. Entries are rounded down to a grid, which can only make them fit better.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Whether to go on looking.
GoOn = Callable[[], bool]
#: Steps of a port's capacity, and of all knapsacks' rows together: an entry loses up to a step, so that where many fit a port, of few sizes, steps are finer.
FEWEST_STEPS, MOST_STEPS, STEPS_IN_ALL = 20_000, 1_000_000, 10_000_000
#: How close bounds are looked for, relative.
CLOSE = 2e-4
#: Sets of entries that are added, at most, before a capacity counts as enough.
MOST_SETS = 400
#: Entries of different sizes, at most, of a leaf that is looked at: with more of them there are many to a port, and ports even out.
MOST_SIZES = 400


def least_busiest(leaves: Iterable[tuple[Floats, int]], known: float, go_on: GoOn) -> float:
    """Return a lower bound, at least `known`, in bytes on the busiest port of any of these: (bytes of a leaf's entries, ports they may take).

    Leaves whose entries are laid within the bound by the longest first need no look; the busiest are looked at first, as long as `go_on`, asked
    between linear programs, says yes.
    """
    best = known
    for sizes, ports in sorted(leaves, key=lambda leaf: -float(leaf[0].sum()) / max(leaf[1], 1)):
        if ports <= 0 or not go_on():
            continue
        enough = longest_first(sizes, ports)
        if enough > best * (1 + CLOSE):
            best = _search_bound(sizes, ports, best, enough, go_on)
    return best


def longest_first(sizes: Floats, ports: int) -> float:
    """Return bytes of the busiest port when each entry, the largest first, takes the port with the fewest bytes."""
    loads = [0.0] * ports
    for size in np.sort(sizes)[::-1].tolist():
        heapq.heapreplace(loads, loads[0] + size)
    return max(loads)


def _search_bound(sizes: Floats, ports: int, known: float, enough: float, go_on: GoOn) -> float:
    """Return the largest capacity between `known` and `enough` that is shown to be too little."""
    different, counts = np.unique(sizes, return_counts=True)
    if len(different) > MOST_SIZES or _may_fit(different, counts, ports, known, go_on):
        return known
    low, high = known, enough
    while high > low * (1 + CLOSE):
        middle = (low + high) / 2
        if _may_fit(different, counts, ports, middle, go_on):
            high = middle
        else:
            low = middle
    return low


def _may_fit(sizes: Floats, counts: Ints, ports: int, capacity: float, go_on: GoOn) -> bool:
    """Return False only where entries of these sizes are shown to need more ports of this capacity."""
    from scipy.optimize import linprog

    if sizes[-1] > capacity:
        return False
    rows = int(np.ceil(np.log2(np.minimum(counts, capacity / sizes) + 1)).sum())
    grid = min(max(STEPS_IN_ALL // max(rows, 1), FEWEST_STEPS), MOST_STEPS)
    steps = np.floor(sizes / capacity * grid).astype(np.int64)
    steps, counts = steps[steps > 0], counts[steps > 0]
    sets = np.diag(np.minimum(counts, grid // steps)).astype(float)
    for _ in range(MOST_SETS):
        if not go_on():
            return True
        program = linprog(np.ones(sets.shape[1]), A_ub=-sets, b_ub=-counts.astype(float), method="highs")
        if program.status != 0 or program.fun <= ports:
            return True
        prices = np.maximum(-program.ineqlin.marginals, 0.0)
        worth, best = _find_worthiest_set(steps, counts, prices, grid)
        if prices @ counts > ports * max(worth, 1.0) * (1 + 1e-9):
            return False
        if worth <= 1 + 1e-9:
            return True
        sets = np.column_stack([sets, best])
    return True


def _find_worthiest_set(steps: Ints, counts: Ints, prices: Floats, grid: int) -> tuple[float, Floats]:
    """Return the set of entries within `grid` steps that is worth most, and its worth: a knapsack by dynamic programming."""
    worth = np.zeros(grid + 1)
    decisions: list[tuple[int, int, NDArray[np.bool_]]] = []
    for size in np.flatnonzero(prices > 0).tolist():
        copies_left, part = int(counts[size]), 1
        while copies_left > 0 and part * steps[size] <= grid:
            part = min(part, copies_left)
            step = int(part * steps[size])
            with_it = worth[:-step] + part * prices[size]
            better = np.zeros(grid + 1, bool)
            better[step:] = with_it > worth[step:]
            worth[step:] = np.maximum(worth[step:], with_it)
            decisions.append((size, part, better))
            copies_left, part = copies_left - part, part * 2
    best, at = np.zeros(len(steps)), int(worth.argmax())
    most = float(worth[at])
    for size, part, better in reversed(decisions):
        if better[at]:
            best[size] += part
            at -= int(part * steps[size])
    return most, best
