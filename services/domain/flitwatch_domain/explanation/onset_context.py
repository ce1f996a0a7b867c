"""Measurements around a slow job, used to infer its cause."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.explanation.candidates import NeighbourJob
from flitwatch_domain.explanation.carriers import UNCOUNTED, Count, LinkCount, RouterCounts
from flitwatch_domain.explanation.flow import Flow

#: Interval of port counters in seconds; length of the window after the onset in which the root is searched, and the least usable length.
GRID_S, WINDOW_S, LEAST_WINDOW_S = 10, 60.0, 20.0


@dataclass(frozen=True)
class OnsetContext:
    """Measurements at the onset of a slow stretch.

    Attributes
    ----------
    fabric_id, fabric : int, str
    router : int64 (n,)         router of each node of the job
    group : int64 (R,)
    low_s, high_s : float       interval of the onset, narrowed if counters show when stalls rose; then `refined` is true
    end_s : float               end of the slow stretch, or of the data
    own : Count                 counts of the job's routers
    onward : Count              counts of the routers at the far end of their links, because receivers count stalls
    counted : RouterCounts or None      counts of all routers of the fabric
    flow : Flow or None         jobs that the job waits for, by flow
    links : list of LinkCount   links of its routers and between its groups
    neighbours : list of NeighbourJob     jobs alongside it
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
    neighbours: Sequence[NeighbourJob]
    nics: bool
    onward: Count = UNCOUNTED
    counted: RouterCounts | None = None
    flow: Flow | None = None

    @property
    def rose(self) -> bool | None:
        """Return whether stalls rose on the job's routers or on those behind their links; None if neither was counted in both windows."""
        rises = [count.rose for count in (self.own, self.onward) if count.rose is not None]
        return any(rises) if rises else None

    def root_window(self, now_s: float) -> tuple[float, float] | None:
        """Return the window for the root, the minute after the onset or its available part, as epoch seconds [from, to); None if too short."""
        to_s = min(math.ceil(self.high_s / GRID_S) * GRID_S + WINDOW_S, now_s, self.end_s)
        length_s = min(WINDOW_S, math.floor((to_s - self.high_s) / GRID_S) * GRID_S)
        return None if length_s < LEAST_WINDOW_S else (to_s - length_s, to_s)
