"""Counters of an InfiniBand fabric's sending ports, PortXmitData and PortXmitWait, computed from the links' traffic.

A port counts a wait while it has data and the switch at the other end has no buffer space: a full link delays the links before it, but never itself. Nodes always have space. The owner of traffic is not used.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.fluid import Gather
from flitwatch_domain.fabric import Fabric
from flitwatch_twin.counters import STALL_NOISE
from flitwatch_twin.flows import FabricState, Flows
from flitwatch_twin.pattern_table import PatternTable
from flitwatch_twin.tree_paths import TreePaths

WORD_BYTES = 4
Float = NDArray[np.float64]


class PortCounters:
    """Counters of every link's sending port of a fat tree since the beginning.

    Attributes
    ----------
    words : float64[L]; sent words of four bytes.
    waits : float64[L]; waiting time of a link's traffic for its next links, in units of a word's time.
    """

    def __init__(self, fabric: Fabric, rng: np.random.Generator) -> None:
        links, routers = fabric.links, len(fabric.routers)
        self.words, self.waits = np.zeros(len(links)), np.zeros(len(links))
        self._rng, self._routers = rng, routers
        self._sender = np.minimum(links.src, routers)
        self._paths, self._home = TreePaths(fabric), fabric.endpoints.router
        self._turns = _list_turns(fabric)
        self._gather = Gather(len(self._turns))
        self._kept = PatternTable(len(self._turns))

    def update(self, flows: Flows, state: FabricState) -> None:
        """Add one step's traffic of `flows` and its waiting time."""
        links = len(self.words)
        self._keep_patterns(flows)
        moved = self._kept.sum(self._kept.columns(flows.patterns), flows.rate * state.accepted) * state.dt_s
        before, after = self._turns // links, self._turns % links
        waited = np.bincount(before, moved * state.link_wait[after], links)
        noise = self._rng.lognormal(0, STALL_NOISE, self._routers + 1)
        self.words += state.link_bytes / WORD_BYTES
        self.waits += waited / WORD_BYTES * noise[self._sender]

    def _keep_patterns(self, flows: Flows) -> None:
        """Add the turns of new patterns, and drop those of ended ones."""
        self._kept.keep_only(flows.patterns)
        for pattern in flows.patterns:
            if pattern not in self._kept:
                hops = self._paths.hops(pattern.src, pattern.dst, self._home)
                keys, shares = [], []
                for (flow, link), (later, then) in pairwise(hops):
                    came = link[np.searchsorted(flow, later)]
                    keys.append(np.searchsorted(self._turns, came * len(self.words) + then))
                    shares.append(pattern.share[later])
                self._kept.add(pattern, self._gather(np.concatenate(keys), np.concatenate(shares)))


def _list_turns(fabric: Fabric) -> NDArray[np.int64]:
    """Return pairs of successive links as first x links + second, sorted."""
    links, turns = fabric.links, []
    for switch in range(len(fabric.routers)):
        into, out = np.flatnonzero(links.dst == switch), np.flatnonzero(links.src == switch)
        turns.append((into[:, None] * len(links) + out).ravel())
    return np.sort(np.concatenate(turns))
