"""What a run feels of the fabric: waiting on its own routers, its groups' global links, and the file system."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric, LinkClass
from flitwatch_simulation.twin.applications import Application, felt, slowdown
from flitwatch_simulation.twin.flows import FabricState
from flitwatch_simulation.twin.machine import IntArray, Machine


class Places:
    """Waiting by place, from one fabric state: per router, per processor side, per group and at the I/O routers."""

    def __init__(self, fabric: Fabric, machine: Machine) -> None:
        self._machine = machine
        links, routers = fabric.links, len(fabric.routers)
        self._between = np.flatnonzero(fabric.router_links())
        self._in_router = links.dst[self._between]
        self._out = np.flatnonzero(links.src < routers)
        self._out_router = links.src[self._out]
        self._blue = np.flatnonzero(fabric.of_class(LinkClass.BLUE))
        self._blue_group = machine.group_of[links.src[self._blue]]
        self._io = np.flatnonzero(
            np.isin(links.dst, machine.io_router) | (np.isin(links.src, machine.io_router) & (links.dst >= routers))
        )

    def waits(self, state: FabricState) -> tuple[NDArray[np.float64], ...]:
        """(router[R], processor[R], global[G], io[1]): byte-weighted waiting; 0 where nothing was carried."""
        machine = self._machine
        router = _weighted(self._in_router, state, self._between, machine.routers)
        processor = _weighted(self._out_router, state, self._out, machine.routers)
        global_ = _weighted(self._blue_group, state, self._blue, machine.groups)
        io = _weighted(np.zeros(len(self._io), np.int64), state, self._io, 1)
        return router, processor, global_, io


def _weighted(
    place: NDArray[np.integer], state: FabricState, links: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    carried = state.link_bytes[links]
    return np.bincount(place, carried * state.link_wait[links], count) / np.maximum(
        np.bincount(place, carried, count), 1.0
    )


class Feeling:
    """One run's view: its routers, weighted by its nodes on them."""

    def __init__(self, application: Application, machine: Machine, nodes: IntArray) -> None:
        self.routers, count = np.unique(machine.node_router[nodes], return_counts=True)
        self._weight = count / count.sum()
        self._group = machine.group_of[self.routers]
        self._sensitivity = application.sensitivity

    def slowdown(self, waits: tuple[NDArray[np.float64], ...]) -> float:
        """F: communication advances at 1 / (1 + F)."""
        router, processor, global_, io = waits
        s = self._sensitivity
        raw = s.router * felt(router[self.routers], self._weight) + s.processor * felt(
            processor[self.routers], self._weight
        )
        raw = raw + s.global_ * felt(global_[self._group], self._weight) + s.io * io[0]
        return float(slowdown(raw))
