"""Lower bound on the load of a leaf's busiest port with one port per entry, from packing entries into ports.

Entries fit into ports of a capacity only if the cutting-stock linear program (Gilmore and Gomory 1961) needs no more ports than available; its columns
are sets of entries for one port. The bound relies not on the solver's solution but on its prices: if no set within the capacity is worth more than one,
the number of ports is at least the worth of all entries. Entries are rounded down to a grid, so that they can only fit better.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Returns whether to continue.
GoOn = Callable[[], bool]
#: Grid steps of a port's capacity, and of all knapsacks' rows together. Rounding costs up to one step per entry, so many small entries need finer steps.
FEWEST_STEPS, MOST_STEPS, STEPS_IN_ALL = 20_000, 1_000_000, 10_000_000
#: Relative precision of the search for bounds.
CLOSE = 2e-4
#: Limit of added sets of entries, after which a capacity counts as sufficient.
MOST_SETS = 400
#: Limit of distinct entry sizes of an examined leaf: with more, each port has many entries, and loads even out.
MOST_SIZES = 400


def least_busiest(leaves: Iterable[tuple[Floats, int]], known: float, go_on: GoOn) -> float:
    """Return a lower bound, at least `known`, in bytes on the busiest port of any leaf, given (bytes of a leaf's entries, number of ports).

    Leaves whose entries fit within the bound with the longest-first rule are skipped. The busiest are examined first, as long as `go_on` returns true
    between linear programs.
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
    """Return the bytes of the busiest port if each entry, in descending order, is assigned to the port with the fewest bytes."""
    loads = [0.0] * ports
    for size in np.sort(sizes)[::-1].tolist():
        heapq.heapreplace(loads, loads[0] + size)
    return max(loads)


def _search_bound(sizes: Floats, ports: int, known: float, enough: float, go_on: GoOn) -> float:
    """Return the largest capacity between `known` and `enough` that is proved insufficient."""
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
    """Return False only if entries of these sizes provably need more ports of this capacity."""
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
    """Return the most valuable set of entries within `grid` steps, and its value (knapsack, dynamic programming)."""
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
