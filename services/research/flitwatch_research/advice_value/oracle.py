"""An adviser with access to the truth: each job's traffic and sensitivity, and a routing mode's effect. It places and routes, but never delays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.network_noise.observations import NicObservation
from flitwatch_research.advice_value.advisers import Answer, ObservedJob, Question
from flitwatch_research.advice_value.closed_loop import Machine
from flitwatch_research.advice_value.modes import MODES
from flitwatch_research.advice_value.network import Utilisation

#: Future interval over which the background's level is averaged.
AHEAD_S = 3600.0

Float = NDArray[np.float64]


class Oracle:
    """Greedy choice of place and routing mode with the least node-seconds of all network-sensitive jobs, one job at a time; a lower bound of the possible."""

    def __init__(self) -> None:
        self._machine: Machine | None = None
        self._costs: tuple[object, Float] | None = None
        self._chosen = 0

    def shown(self, machine: Machine) -> None:
        """Use this machine's truth from now on."""
        self._machine = machine

    def counted(self, now_s: float, until_s: float, congestion: Mapping[str, Float]) -> None:
        """Ignore counters: the truth is better."""

    def started(self, job: ObservedJob) -> None:
        """Do nothing: the machine contains it."""

    def ended(self, job: ObservedJob, end_s: float, sent_share: float) -> None:
        """Do nothing: the machine contains it."""

    def carded(self, job: ObservedJob, mode: str, observed: NicObservation) -> None:
        """Ignore counters: the effect of a mode is known."""

    def answer(self, question: Question, now_s: float) -> Answer:
        """Return the best of the usual nodes, of each group's nodes, and of nodes over all groups, each under its best mode."""
        assert self._machine is not None
        costs = self.costs(self._machine)
        at_place = costs.min(axis=1)
        best = int(np.argmin(at_place[1:])) + 1 if len(at_place) > 1 else 0
        self._chosen = best if at_place[best] < at_place[0] else 0
        return Answer(self._chosen - 1 if self._chosen else None)

    def routed(self, question: Question, now_s: float) -> str | None:
        """Return the best mode at the chosen place."""
        assert self._machine is not None
        return MODES[int(np.argmin(self.costs(self._machine)[self._chosen]))]

    def costs(self, machine: Machine) -> Float:
        """Return the node-seconds until the network-sensitive jobs have ended, at mean rates, for the job of the question: float64[places, modes]."""
        if self._costs is None or self._costs[0] is not machine.placing:
            self._costs = machine.placing, self._compute_costs(machine)
        return self._costs[1]

    def _compute_costs(self, machine: Machine) -> Float:
        month, network, job = machine.month, machine.network, machine.placed
        active, loads, _ = machine.loads()
        rates = [run.rates[min(machine.tick - run.first_tick, len(run.rates) - 1) :].mean(axis=0) for run in active]
        tick = min(machine.tick, len(month.level) - 2)
        level = month.level[tick : tick + max(1, round(AHEAD_S / month.tick_s))].mean(axis=0)
        others = network.utilisation(loads, np.array(rates, np.float32).reshape(-1, 3), level)
        own_rate, count = machine.rates_of(job)[0], month.jobs[job].nodes
        options = [
            (network.routed(load, count, (mode,)), mode)
            for nodes in machine.placing
            if (load := machine.load_of(job, nodes)) is not None
            for mode in MODES
        ]
        utilisation = Utilisation(
            np.stack([others.router + own_rate @ load.router for load, _ in options]),
            np.stack([others.processor + own_rate @ load.processor for load, _ in options]),
            np.stack([others.global_ + own_rate @ load.global_ for load, _ in options]),
        )
        waits = machine.waits(utilisation)
        total = np.zeros(len(options))
        for run in active:
            if run.load is not None and (name := month.jobs[run.job].application):
                slow = machine.slow_of(name, run.load, run.modes[0], utilisation, waits)
                total += month.jobs[run.job].nodes * run.left_s * slow
        for at, (load, mode) in enumerate(options):
            here = Utilisation(utilisation.router[at], utilisation.processor[at], utilisation.global_[at])
            felt = Utilisation(waits.router[at], waits.processor[at], waits.global_[at])
            total[at] += (
                count
                * month.jobs[job].alone_s
                * float(machine.slow_of(month.jobs[job].application, load, mode, here, felt))
            )
        return total.reshape(len(machine.placing), len(MODES))
