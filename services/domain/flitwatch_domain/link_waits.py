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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import Turns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A fuller link has the queue of one that is so full.
FULL = 0.95
#: Switches whose turns are worked on at once.
BLOCK = 128
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
class _Block:
    """Turns at some switches with as many links each.

    Attributes
    ----------
    before : int64 (switches, n)    links that lead there
    after : int64 (switches, m)     links that lead on
    turns : slice                   of the turns
    cell : int64 (turns,)           the place of each in (switches, n, m)
    """

    before: Ints
    after: Ints
    turns: slice
    cell: Ints


@dataclass(frozen=True, eq=False)
class WaitingTurns:
    """Turns that are in a count together with a turn to one of some links, switch by switch.

    Attributes
    ----------
    before, after : int64 (turns,)    first and second link of each
    links : int64 (n,)                all of these, sorted
    blocks : _Block sequence          the same turns by switch
    """

    before: Ints
    after: Ints
    links: Ints
    blocks: Sequence[_Block]

    @classmethod
    def to(cls, links: Ints, turns: Turns, counts: PortCounts) -> WaitingTurns:
        """The turns whose waiting says how long flits wait for some links."""
        there = np.zeros(len(counts.waited), bool)
        there[counts.count[turns.into(links)]] = True
        first = np.flatnonzero(there[counts.count])
        at, leave = turns.switches(first)
        come = np.bincount(at)[at]
        order = np.lexsort((at, leave, come))
        first, at, leave, come = first[order], at[order], leave[order], come[order]
        place, after = turns.after(first)
        column, blocks, begin = turns.ranks(after), [], 0
        while begin < len(first):
            n, m = int(come[begin]), int(leave[begin])
            alike = np.flatnonzero((come[begin:] != n) | (leave[begin:] != m))[:1]
            end = min(begin + n * BLOCK, begin + int(alike[0]) if len(alike) else len(first))
            some = slice(*np.searchsorted(place, (begin, end)).tolist())
            cell = (place[some] - begin) * m + column[some]
            blocks.append(_Block(first[begin:end].reshape(-1, n), turns.leaving(at[begin:end:n], m), some, cell))
            begin = end
        used = np.zeros(len(counts.count), bool)
        for link in (first[place], after):
            used[link] = True
        return cls(first[place], after, np.flatnonzero(used), blocks)


def link_waits(
    turns: WaitingTurns, loads: Floats, counts: PortCounts, use: Floats, most: Floats | None = None
) -> Floats:
    """Waiting of a flit that is sent over each link, in times of a flit: (links,), 0 if none is, NaN if no count says it.

    Parameters
    ----------
    loads : float64 (links, jobs)    bytes that each job is expected to put on each link of the fabric: on those of the turns at least
    use : float64 (links,)           of what each link can carry, the part that it carries; NaN: not counted
    most : float64 (links,)          what a flit waits for each link at most: the rest of a count is waiting for other links
    """
    size = len(use)
    moved = _spread_flits(turns, loads, counts.carried)
    row, after = counts.count[turns.before], turns.after
    mask = np.isfinite(counts.waited[row])
    if not mask.all():
        row, after, moved = row[mask], after[mask], moved[mask]
    waited = np.nan_to_num(counts.waited)
    fullness = np.minimum(np.nan_to_num(use), FULL)
    wait, whole = fullness / (1 - fullness), _sum_groups(after, moved, size)
    for _ in range(WAIT_ROUNDS):
        ratio = _safe_ratio(waited, _sum_groups(row, moved * wait[after], len(waited)))
        wait *= _safe_ratio(_sum_groups(after, moved * ratio[row], size), whole)
        if most is not None:
            wait = np.minimum(wait, most)
    has_turn = np.zeros(size, bool)
    has_turn[after] = True
    waits: Floats = np.where(has_turn, wait, np.nan)
    return waits


def _spread_flits(turns: WaitingTurns, loads: Floats, carried: Floats) -> Floats:
    """Flits that take each turn, to a common factor if nothing is counted."""
    moved = np.empty(len(turns.before))
    for block in turns.blocks:
        came, onward = loads[block.before], loads[block.after]
        allowed = np.zeros((*block.before.shape, block.after.shape[1]))
        allowed.reshape(-1)[block.cell] = 1.0
        some = allowed * (_safe_ratio(came, allowed @ onward) @ onward.transpose(0, 2, 1))
        into, out = carried[block.before], carried[block.after]
        counted_in, counted_out = np.isfinite(into), np.isfinite(out)
        if counted_in.any() or counted_out.any():
            scale_in, scale_out = np.ones_like(into), np.ones_like(out)
            for _ in range(TRAFFIC_ROUNDS):
                scale_in = np.where(counted_in, _safe_ratio(into, (some @ scale_out[:, :, None])[:, :, 0]), 1.0)
                scale_out = np.where(counted_out, _safe_ratio(out, (scale_in[:, None] @ some)[:, 0]), 1.0)
            some *= scale_in[:, :, None] * scale_out[:, None]
        moved[block.turns] = some.ravel()[block.cell]
    return moved


def _sum_groups(of: Ints, values: Floats, count: int) -> Floats:
    """Sums of what belongs to each, (count,)."""
    sums: Floats = np.bincount(of, values, count).astype(np.float64)
    return sums


def _safe_ratio(above: Floats, below: Floats) -> Floats:
    """Quotients; 0 if nothing is below."""
    quotient: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return quotient
