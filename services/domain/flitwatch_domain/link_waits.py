"""Waiting of flits for each link, where ports count what they send.

A port of InfiniBand counts how long it waits for room in the next switch, and not for which of the links that lead on from there. So a link's wait is in the
counts of all ports that lead to it, mixed with the waits for its siblings. Three steps take these apart:

1. What goes from port to link: what the jobs are expected to send there, scaled until the sums are what each port and each link carried (tomogravity:
   Zhang, Roughan, Duffield and Greenberg 2003).
2. A first guess of a link's wait: the queue of M/M/1 before a link that is so full, to a common factor.
3. The waits are scaled some times to what the ports counted (Richardson 1972, Lucy 1974). More often would fit them to the errors of step 1.

A count may be that of a port, or the sum of a switch's ports: the steps are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import Turns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A fuller link has the queue of one that is so full.
FULL = 0.95
#: How often traffic is scaled, and waits are.
TRAFFIC_ROUNDS, WAIT_ROUNDS = 10, 4


@dataclass(frozen=True, eq=False)
class PortCounts:
    """Counts of ports in a moment.

    Attributes
    ----------
    carried : float64 (links,)    flits that each link carried; NaN: not counted
    count : int64 (links,)        the count that the waiting of each link is in
    waited : float64 (counts,)    the waiting of each count, in times of a flit; NaN: not counted
    """

    carried: Floats
    count: Ints
    waited: Floats


@dataclass(frozen=True, eq=False)
class WaitingTurns:
    """Turns that are in a count together with a turn to one of some links, ordered by their first links.

    Attributes
    ----------
    before, after : int64 (turns,)    first and second link of each
    links : int64 (n,)                all of these, sorted
    """

    before: Ints
    after: Ints
    links: Ints

    @classmethod
    def to(cls, links: Ints, turns: Turns, counts: PortCounts) -> WaitingTurns:
        """The turns whose waiting says how long flits wait for some links."""
        there = np.zeros(len(counts.waited), bool)
        there[counts.count[turns.into(links)]] = True
        first = np.flatnonzero(there[counts.count])
        place, after = turns.after(first)
        before = first[place]
        return cls(before, after, np.unique(np.concatenate((before, after))))


def link_waits(turns: WaitingTurns, loads: Floats, counts: PortCounts, use: Floats) -> Floats:
    """Waiting of a flit that is sent over each link, in times of a flit: (links,), 0 where none is, NaN where no count says it.

    Parameters
    ----------
    loads : float64 (links, jobs)    bytes that each job is expected to put on each link of the fabric: on those of the turns at least
    use : float64 (links,)           of what each link can carry, the part that it carries; NaN: not counted
    """
    size = len(use)
    moved = _spread_flits(turns, loads, counts.carried)
    of = counts.count[turns.before]
    mask = np.isfinite(counts.waited[of])
    after, moved = turns.after[mask], moved[mask]
    names, row = np.unique(of[mask], return_inverse=True)
    waited = counts.waited[names]
    fullness = np.minimum(np.nan_to_num(use), FULL)
    wait, whole = fullness / (1 - fullness), _sum_groups(after, moved, size)
    for _ in range(WAIT_ROUNDS):
        ratio = _safe_ratio(waited, _sum_groups(row, moved * wait[after], len(names)))
        wait *= _safe_ratio(_sum_groups(after, moved * ratio[row], size), whole)
    has_turn = np.zeros(size, bool)
    has_turn[after] = True
    waits: Floats = np.where(has_turn, wait, np.nan)
    return waits


def _spread_flits(turns: WaitingTurns, loads: Floats, carried: Floats) -> Floats:
    """Flits that take each turn, to a common factor where nothing is counted."""
    before, after, size = turns.before, turns.after, len(carried)
    first = np.searchsorted(before, np.arange(size + 1))
    moved = np.zeros(len(before))
    for load in loads.T:
        begins = np.flatnonzero(load)
        count = np.diff(first)[begins]
        some = np.repeat(first[begins] - np.cumsum(count) + count, count) + np.arange(count.sum())
        onward = load[after[some]]
        whole = _sum_groups(before[some], onward, size)
        moved[some] += load[before[some]] * _safe_ratio(onward, whole[before[some]])
    mask = np.isfinite(carried)
    for _ in range(TRAFFIC_ROUNDS):
        for end in (before, after):
            scale = np.where(mask, _safe_ratio(carried, _sum_groups(end, moved, size)), 1.0)
            moved *= scale[end]
    return moved


def _sum_groups(of: Ints, values: Floats, count: int) -> Floats:
    """Sums of what belongs to each, (count,)."""
    sums: Floats = np.bincount(of, values, count).astype(np.float64)
    return sums


def _safe_ratio(above: Floats, below: Floats) -> Floats:
    """Quotients; 0 where nothing is below."""
    quotient: Floats = np.divide(above, below, out=np.zeros(len(below)), where=below > 0)
    return quotient
