"""The first fabric model: static paths, summed loads, a stall curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_simulation.twin.flows import FabricState, Flows, Pattern
from flitwatch_simulation.twin.machine import Machine
from flitwatch_simulation.twin.paths import DragonflyPaths, Loads
from flitwatch_simulation.twin.stall import waiting


class StaticPathModel:
    """Implements `FabricModel` on one fabric.

    A pattern that offers more than its fullest link can take is slowed as a whole until it fits, as back-pressure does; the
    waiting is that of the offered load. Loads are linear in the rates, so bytes are conserved at every router.
    """

    def __init__(self, fabric: Fabric, machine: Machine) -> None:
        self._paths = DragonflyPaths(fabric, machine)
        self._endpoint_router = fabric.endpoints.router
        links = fabric.links
        self._capacity = np.nan_to_num(links.bandwidth_bps * links.multiplicity / 8, nan=5e9)
        self._kept: dict[Pattern, Loads] = {}

    def step(self, flows: Flows, dt_s: float) -> FabricState:
        """Carry `flows` for `dt_s` seconds."""
        loads = [self._loads(pattern) for pattern in flows.patterns]
        offered = self._sum(loads, flows.rate)
        utilisation = offered / self._capacity
        accepted = np.ones(len(loads))
        if utilisation.max(initial=0.0) > 1:
            fullest = [utilisation[links].max(initial=0.0) for links, _ in loads]
            accepted = 1 / np.maximum(fullest, 1.0)
        carried = self._sum(loads, flows.rate * accepted)
        return FabricState(dt_s, carried * dt_s, utilisation, waiting(utilisation), accepted)

    def release(self, pattern: Pattern) -> None:
        """Forget a pattern's paths."""
        self._kept.pop(pattern, None)

    def _loads(self, pattern: Pattern) -> Loads:
        if pattern not in self._kept:
            self._kept[pattern] = self._paths.loads(pattern.src, pattern.dst, pattern.share, self._endpoint_router)
        return self._kept[pattern]

    def _sum(self, loads: list[Loads], rate: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(len(self._capacity))
        for (links, share), factor in zip(loads, rate, strict=True):
            if factor:
                total[links] += factor * share
        return total
