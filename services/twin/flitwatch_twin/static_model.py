"""Fluid engine with one-second steps: static paths, summed loads, and a stall curve fitted to the packet engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.fluid import link_state
from flitwatch_domain.fabric import Fabric
from flitwatch_twin.flows import FabricState, Flows, Pattern
from flitwatch_twin.machine import Machine, Nodes
from flitwatch_twin.paths import DragonflyPaths
from flitwatch_twin.pattern_table import PatternTable
from flitwatch_twin.stall import load_curve
from flitwatch_twin.tree_paths import TreePaths


class StaticPathModel:
    """Implements `FabricModel` on one fabric.

    A pattern that exceeds the capacity of its most utilised link is slowed as a whole until it fits, as with back-pressure. Waiting is computed
    from the offered
    load. Loads are linear in the rates, so bytes are conserved at every router.
    """

    def __init__(self, fabric: Fabric, machine: Nodes) -> None:
        self._paths = DragonflyPaths(fabric, machine) if isinstance(machine, Machine) else TreePaths(fabric)
        self._endpoint_router = fabric.endpoints.router
        links = fabric.links
        self._capacity = np.nan_to_num(links.bandwidth_bps * links.multiplicity / 8, nan=5e9)
        self._kept = PatternTable(len(links))
        self._curve = load_curve()

    def step(self, flows: Flows, dt_s: float) -> FabricState:
        """Carry `flows` for `dt_s` seconds."""
        columns = self._find_columns(flows.patterns)
        offered = self._kept.sum(columns, flows.rate)
        curve = self._curve
        utilisation, wait, highest = link_state(
            offered, self._capacity, curve.scale, curve.knee, curve.slope_above_knee
        )
        accepted = np.ones(len(columns))
        carried = offered
        if highest > 1:
            accepted = 1 / np.maximum(self._kept.highest_utilisation(columns, utilisation), 1.0)
            carried = self._kept.sum(columns, flows.rate * accepted)
        return FabricState(dt_s, carried * dt_s, utilisation, wait, accepted)

    def release(self, pattern: Pattern) -> None:
        """Drop a pattern's paths."""
        self._kept.release(pattern)

    def _find_columns(self, patterns: tuple[Pattern, ...]) -> NDArray[np.int64]:
        for pattern in patterns:
            if pattern not in self._kept:
                self._kept.add(
                    pattern, self._paths.loads(pattern.src, pattern.dst, pattern.share, self._endpoint_router)
                )
        return self._kept.columns(patterns)
