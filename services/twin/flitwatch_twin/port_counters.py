"""Counters of an InfiniBand fabric's sending ports, fed by what links carried: PortXmitData and PortXmitWait.

A port counts a wait while it has data and the switch at the other end has no room: a full link makes those wait that lead to it, and never itself. Nodes always have room. Nothing here knows whose traffic it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_twin.counters import STALL_NOISE
from flitwatch_twin.flows import FabricState

WORD_BYTES = 4
Float = NDArray[np.float64]


class PortCounters:
    """What every link's sending port counted since the beginning.

    Attributes
    ----------
    words : float64[L]; sent, of four bytes.
    waits : float64[L]; the time waited, in times of a word.
    """

    def __init__(self, fabric: Fabric, rng: np.random.Generator) -> None:
        links, routers = fabric.links, len(fabric.routers)
        self.words, self.waits = np.zeros(len(links)), np.zeros(len(links))
        self._rng, self._routers = rng, routers
        self._sender = np.minimum(links.src, routers)
        self._before, self._after = _turns(fabric)

    def update(self, state: FabricState) -> None:
        """Add what one step carried, and how long it waited: what waits in a switch is spread over all that came in there for the same ways on."""
        count = len(self.words)
        onward = state.link_bytes[self._after]
        moved = np.bincount(self._before, onward, count)
        waited = np.bincount(self._before, onward * state.link_wait[self._after], count)
        words = state.link_bytes / WORD_BYTES
        noise = self._rng.lognormal(0, STALL_NOISE, self._routers + 1)
        self.words += words
        self.waits += words * np.divide(waited, moved, out=np.zeros(count), where=moved > 0) * noise[self._sender]


def _turns(fabric: Fabric) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a link and one that its traffic can take next: not straight back, and on a tree not up again after it came down."""
    links, routers = fabric.links, len(fabric.routers)
    level = np.append(fabric.routers.level, np.full(len(fabric.endpoints), -1)).astype(np.int64)
    falls = level[links.dst] < level[links.src]
    before, after = [], []
    for switch in range(routers):
        into, out = np.flatnonzero(links.dst == switch), np.flatnonzero(links.src == switch)
        there = (links.src[into][:, None] != links.dst[out]) & (~falls[into][:, None] | falls[out])
        first, then = np.nonzero(there)
        before.append(into[first])
        after.append(out[then])
    return np.concatenate(before), np.concatenate(after)
