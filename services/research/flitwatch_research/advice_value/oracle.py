"""An adviser that is shown the truth: what every job sends and what every job feels. It places; it never delays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.advice_value.advisers import Answer, ObservedJob, Question
from flitwatch_research.advice_value.closed_loop import Machine
from flitwatch_twin.applications import APPLICATIONS

#: How far ahead the background's level is averaged.
AHEAD_S = 3600.0

Float = NDArray[np.float64]


class Oracle:
    """Takes the place with the least node-seconds for all jobs that feel the network, one job at a time: greedy, so a lower bound of what is possible."""

    def __init__(self) -> None:
        self._machine: Machine | None = None

    def shown(self, machine: Machine) -> None:
        """Look at this machine from now on."""
        self._machine = machine

    def counted(self, now_s: float, until_s: float, congestion: Mapping[str, Float]) -> None:
        """The truth is better than counters."""

    def started(self, job: ObservedJob) -> None:
        """The machine shows it."""

    def ended(self, job: ObservedJob, end_s: float, sent_share: float) -> None:
        """The machine shows it."""

    def answer(self, question: Question, now_s: float) -> Answer:
        """The best of the usual nodes, of those of each group with room, and of those over all groups."""
        assert self._machine is not None
        usual, *others = (self._cost(nodes) for nodes in self._machine.placing)
        best = int(np.argmin(others)) if others else 0
        return Answer(best if others and others[best] < usual else None)

    def _cost(self, nodes: NDArray[np.int64]) -> float:
        """Node-seconds until the jobs that feel the network have ended, at mean rates."""
        machine = self._machine
        assert machine is not None
        month, network = machine.month, machine.network
        active, loads, _ = machine.loads()
        job = machine.placed
        own = machine.load_of(job, nodes)
        assert own is not None
        tick = min(machine.tick, len(month.level) - 2)
        level = month.level[tick : tick + max(1, round(AHEAD_S / month.tick_s))].mean(axis=0)
        rates = [run.rates[min(machine.tick - run.first_tick, len(run.rates) - 1) :].mean(axis=0) for run in active]
        seen = network.utilisation([*loads, own], np.array([*rates, machine.rates_of(job)[0]], np.float32), level)
        total = 0.0
        whole = [(run.job, run.load, run.left_s) for run in active] + [(job, own, month.jobs[job].alone_s)]
        for number, load, left_s in whole:
            if load is not None and (name := month.jobs[number].application):
                app = APPLICATIONS[name]
                felt = network.slowdown(load, seen, month.causes[name], app.most_slowdown)
                share = float(app.communicate_s.sum() / app.alone_s)
                total += month.jobs[number].nodes * left_s * (1 + share * felt)
        return total
