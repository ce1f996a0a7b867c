"""Instrumented runs: step times and counters as recorded by AriesNCL, with one reporting rank per router."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_twin.applications import Application
from flitwatch_twin.counters import Counters
from flitwatch_twin.feel import RunView
from flitwatch_twin.flows import FabricState
from flitwatch_twin.machine import Nodes
from flitwatch_twin.progress import Progress
from flitwatch_twin.scheduler import Allocation

#: Ranks on a node (64 of 68 cores in Bhatele 2020).
RANKS_PER_NODE = 64


@dataclass(frozen=True)
class RecordedStep:
    """Time step: int64[ranks] nanoseconds and int64[ranks, 13] counter increments."""

    step: int
    time_ns: NDArray[np.int64]
    values: NDArray[np.int64]


class InstrumentedRun:
    """Execution of an application. `ranks` are the reporting ranks, `nodes` their nodes' names."""

    def __init__(
        self,
        app: Application,
        run_view: RunView,
        machine: Nodes,
        fabric: Fabric,
        allocation: Allocation,
        rng: np.random.Generator,
        key: str,
    ) -> None:
        self.application = app
        self.allocation = allocation
        self.key = key
        self.start_s = allocation.start_s
        self.run_view = run_view
        self.progress = Progress(app, rng)
        self.steps: list[RecordedStep] = []
        self.routers, first = np.unique(machine.node_router[allocation.nodes], return_index=True)
        self.ranks = [int(place) * RANKS_PER_NODE for place in first]
        endpoints = machine.node_endpoint[allocation.nodes[first]]
        self.nodes = [str(fabric.endpoints.node[endpoint]) for endpoint in endpoints]
        self._rng = np.random.default_rng(rng.integers(2**63))
        self._step_began: NDArray[np.float64] | None = None

    def counters(self, counters: Counters) -> NDArray[np.float64]:
        """Return the current Table II counters of the run's routers: float64[ranks, 13]."""
        return counters.table_two(self.routers)

    def advance(
        self, state: FabricState, before: NDArray[np.float64], after: NDArray[np.float64]
    ) -> tuple[list[RecordedStep], float]:
        """Advance through a machine step, with counters interpolated linearly. Return the finished steps and the completed communication."""
        if self._step_began is None:
            self._step_began = before
        done, moved = self.progress.advance(state.dt_s, self.run_view.slowdown(state))
        recorded = []
        for step in done:
            at_end = before + step.after_s / state.dt_s * (after - before)
            increments = np.floor(at_end) - np.floor(self._step_began)
            self._step_began = at_end
            recorded.append(RecordedStep(step.step, self._rank_times(step.time_s), increments.astype(np.int64)))
        self.steps.extend(recorded)
        return recorded, moved

    def _rank_times(self, time_s: float) -> NDArray[np.int64]:
        """Return the time of each rank: the full step for the slowest one, a few tenths of a per cent less for the others."""
        early = np.abs(self._rng.normal(0, 0.002, len(self.ranks)))
        early[int(self._rng.integers(len(early)))] = 0.0
        return np.round(time_s * (1 - np.minimum(early, 0.02)) * 1e9).astype(np.int64)
