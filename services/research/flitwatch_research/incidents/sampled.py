"""Samplers of a simulated machine by router, port and network card: for a dragonfly's tiles, and for a tree's sending ports."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.counters import LINK_CLASS_COLUMNS
from flitwatch_research.port_counters import WORD_BYTES, PortCounters
from flitwatch_twin.cluster import Cluster
from flitwatch_twin.flows import FabricState, Flows

#: Number of network tiles of a Cray XC router.
TILES = 40
_Array = NDArray[np.float64]
Sample = tuple[_Array, _Array, _Array]


class Sampler(Protocol):
    """Interface of a counter sampler.

    Attributes
    ----------
    routers, cards : filled columns of the tables of routers and of endpoints
    ports : largest number of ports of a router
    """

    routers: tuple[str, ...]
    cards: tuple[str, ...]
    ports: int

    def see(self, flows: Flows, state: FabricState) -> None:
        """Count the traffic of one second."""
        ...

    def take(self) -> Sample:
        """Return the counts since the last call: (columns, routers), flits and stalls (2, routers, ports; NaN: no link), (columns, endpoints)."""
        ...


class TileSampler:
    """Sampler of Aries routers' tiles: incoming flits and stalls, in total and by link class."""

    routers: tuple[str, ...] = (
        "rt_flits",
        "rt_stall_cycles",
        *(column for pair in LINK_CLASS_COLUMNS.values() for column in pair),
    )
    cards: tuple[str, ...] = ("tx_bytes", "rx_bytes")
    ports = TILES

    def __init__(self, cluster: Cluster) -> None:
        self._counters = cluster.counters
        self._network, self._moved = self._counters.network[:2].copy(), self._counters.nic[3:5].copy()
        links, of_class = cluster.fabric.counted_links()[:, :TILES], cluster.fabric.of_class
        self._there = links >= 0
        self._by_class = [self._there & of_class(name)[links] for name in LINK_CLASS_COLUMNS]

    def see(self, flows: Flows, state: FabricState) -> None:
        """Do nothing: the cluster counts itself."""

    def take(self) -> Sample:
        """See `Sampler.take`."""
        moved, card_counts = self._counters.network[:2] - self._network, self._counters.nic[3:5] - self._moved
        self._network, self._moved = self._counters.network[:2].copy(), self._counters.nic[3:5].copy()
        sums = [moved.sum(axis=2), *(np.where(here, moved, 0.0).sum(axis=2) for here in self._by_class)]
        return np.concatenate(sums), np.where(self._there, moved, np.nan), card_counts


class PortSampler:
    """Sampler of InfiniBand ports of switches and adapters: sent words, and waiting time in units of a word. A switch's sums cover all its ports."""

    routers: tuple[str, ...] = ("rt_flits", "rt_stall_cycles")
    cards: tuple[str, ...] = ("tx_bytes", "rx_bytes", "tx_wait_cycles")

    def __init__(self, cluster: Cluster) -> None:
        fabric = cluster.fabric
        self._counters = PortCounters(fabric, np.random.default_rng([cluster.seed, cluster.time_s, 1]))
        self._was = np.zeros((2, len(fabric.links)))
        self._table = fabric.counted_links()
        self.ports = self._table.shape[1]
        end = len(fabric.routers) + np.arange(len(fabric.endpoints))
        links, order = fabric.links, np.arange(len(fabric.links))
        self._leaves, self._comes = np.full((2, fabric.vertices), -1, np.int64)
        self._leaves[links.src], self._comes[links.dst] = order, order
        self._leaves, self._comes = self._leaves[end], self._comes[end]

    def see(self, flows: Flows, state: FabricState) -> None:
        """See `Sampler.see`."""
        self._counters.update(flows, state)

    def take(self) -> Sample:
        """See `Sampler.take`."""
        now = np.stack((self._counters.words, self._counters.waits))
        moved, self._was = now - self._was, now
        ports = np.where(self._table >= 0, moved[:, self._table], np.nan)
        words, waits = moved
        cards = np.stack((words[self._leaves] * WORD_BYTES, words[self._comes] * WORD_BYTES, waits[self._leaves]))
        return np.nansum(ports, axis=2), ports, cards
