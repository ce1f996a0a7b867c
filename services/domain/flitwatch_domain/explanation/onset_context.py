"""Measurements around a slow job, from which its cause is inferred."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.explanation.candidates import NeighbourJob
from flitwatch_domain.explanation.carriers import UNCOUNTED, Count, LinkCount, RouterCounts
from flitwatch_domain.explanation.flow import Flow

#: Counters of ports come in grids of so many seconds; the root is looked for in the first minute after the onset, and not in less than two of them.
GRID_S, WINDOW_S, LEAST_WINDOW_S = 10, 60.0, 20.0


@dataclass(frozen=True)
class OnsetContext:
    """Measurements at the onset of a slow stretch.

    Attributes
    ----------
    fabric_id, fabric : int, str
    router : int64 (n,)         router of each node of the job
    group : int64 (R,)
    low_s, high_s : float       interval of the onset, narrowed where counters say when stalls rose; `refined` says so
    end_s : float               end of the slow stretch, or until when it was watched
    own : Count                 of the job's routers
    onward : Count              of the routers where the links of the job's routers are counted: at the far end, as receivers count
    counted : RouterCounts or None      of every router of the fabric
    flow : Flow or None         whom the job waits for, by flow
    links : list of LinkCount   of its routers and between its groups
    beside : list of NeighbourJob
    nics : bool                 whether NICs are counted
    """

    fabric_id: int
    fabric: str
    router: NDArray[np.int64]
    group: NDArray[np.int64]
    low_s: float
    high_s: float
    end_s: float
    refined: bool
    own: Count
    links: Sequence[LinkCount]
    beside: Sequence[NeighbourJob]
    nics: bool
    onward: Count = UNCOUNTED
    counted: RouterCounts | None = None
    flow: Flow | None = None

    @property
    def rose(self) -> bool | None:
        """Return whether stalls rose on the job's routers or where their links lead; None if neither was counted on both sides."""
        rises = [count.rose for count in (self.own, self.onward) if count.rose is not None]
        return any(rises) if rises else None

    def root_window(self, now_s: float) -> tuple[float, float] | None:
        """The minute after the onset, or what there is of it, in which the root is looked for: epoch seconds [from, to); None if that is too little."""
        to_s = min(math.ceil(self.high_s / GRID_S) * GRID_S + WINDOW_S, now_s, self.end_s)
        length_s = min(WINDOW_S, math.floor((to_s - self.high_s) / GRID_S) * GRID_S)
        return None if length_s < LEAST_WINDOW_S else (to_s - length_s, to_s)
