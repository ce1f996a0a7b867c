"""Waiting of flits for each link, if waits are counted at the sending port.

An InfiniBand port counts how long it waits for room in the next switch, but not for which of that switch's links. A link's wait is therefore part of the
counts of all ports that lead to it, mixed with the waits for its siblings. Three steps separate them:

1. Traffic from port to link: the jobs' expected traffic, scaled until the sums match the traffic of each port and each link (tomogravity:
Zhang, Roughan, Duffield and Greenberg 2003).
2. A first estimate of a link's wait, up to a common factor: the M/M/1 queue of a link with its utilisation.
3. The waits are scaled several times to the ports' counts (Richardson 1972, Lucy 1974). More iterations would fit them to the errors of step 1.

The steps are the same if a count is the sum of a switch's ports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.diagnosis import Turns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Highest utilisation used for a link's queue.
FULL = 0.95
#: Number of switches whose turns are processed together.
BLOCK = 128
#: Iterations of scaling traffic, and waits.
TRAFFIC_ROUNDS, WAIT_ROUNDS = 10, 4


@dataclass(frozen=True, eq=False)
class PortCounts:
    """Counts of ports in one interval.

    Attributes
    ----------
    carried : float64 (links,)    flits on each link; NaN: not counted
    count : int64 (links,)        index of the count that includes the waiting of each link
    waited : float64 (counts,)    waiting of each count, in flit times; NaN: not counted
    """

    carried: Floats
    count: Ints
    waited: Floats


@dataclass(frozen=True, eq=False)
class _Block:
    """Turns at some switches with equal numbers of links.

    Attributes
    ----------
    before : int64 (switches, n)    links that end there
    after : int64 (switches, m)     links that begin there
    turns : slice                   range of these turns
    cell : int64 (turns,)           index of each turn in (switches, n, m)
    """

    before: Ints
    after: Ints
    turns: slice
    cell: Ints


@dataclass(frozen=True, eq=False)
class WaitingTurns:
    """Turns, by switch, whose waiting is in the same count as a turn to one of the given links.

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
        """Collect the turns whose waiting shows how long flits wait for the given links."""
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
    """Return the waiting of a flit for each link, in flit times: (links,), 0 for unused links, NaN if not counted.

    Parameters
    ----------
    loads : float64 (links, jobs)    expected bytes of each job on each link of the fabric, at least on the links of the turns
    use : float64 (links,)           utilisation of each link; NaN: not counted
    most : float64 (links,)          upper limit of a flit's wait for each link: the rest of a count is waiting for other links
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
    """Return the flits on each turn, up to a common factor if nothing is counted."""
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
    """Sum the values of each group, (count,)."""
    sums: Floats = np.bincount(of, values, count).astype(np.float64)
    return sums


def _safe_ratio(above: Floats, below: Floats) -> Floats:
    """Divide; 0 if the denominator is 0."""
    quotient: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return quotient
