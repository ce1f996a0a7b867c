"""One turn of the loop, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import Cancelled
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.optimise import Routes
from flitwatch_routing.reconstruction.choice import Choice
from flitwatch_routing.reconstruction.recover import Reconstruction
from flitwatch_simulation.loop.demand import demand_of
from flitwatch_simulation.loop.estimate import combined_slots, optimise_slots, reconstruct_slots, routes_for
from flitwatch_simulation.loop.machine import Carried, Score
from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.process import MachineProcess

Ints = NDArray[np.int64]
#: report(stages done, number of stages, current stage)
Report = Callable[[int, int, str], None]
STAGES = 6
#: New routes count as a loss only if slower by more than this factor, the variation due to arbitration.
EVEN = 1.01
#: An estimated error above this makes the reconstruction the likely cause of a loss.
UNSURE = 0.1


class SearchResult(TypedDict):
    """Estimated error of a reconstruction, None if unknown, and the cost of its search."""

    estimated_error: float | None
    residual: float
    iterations: int
    converged: bool
    wall_s: float


def describe_search(found: Reconstruction) -> SearchResult:
    """Return the error and the cost of a reconstruction, for reports."""
    return {
        "estimated_error": found.estimated_error,
        "residual": found.residual,
        "iterations": found.iterations,
        "converged": found.converged,
        "wall_s": found.wall_s,
    }


class TurnReconstruction(SearchResult):
    """Result of the reconstruction.

    Attributes
    ----------
    held_out : relative error on held-out counters by basis; None if a basis does not fit the jobs
    """

    basis: str
    held_out: dict[str, float | None]
    relative_error: float | None


class TurnSummary(TypedDict):
    """Output of the command and the task; gaps are relative to the lower bound."""

    time_ms: dict[str, float]
    speedup_over_ftree: float
    true_gap: float | None
    ftree_gap: float | None
    time_structure: str
    reconstruction: TurnReconstruction | None
    recommended: bool
    reason: str
    simulated: bool
    wall_s: float


@dataclass(frozen=True)
class Turn:
    """All results of a turn; `score` comes from the process with the true traffic and does not influence the rest.

    found, choice, adaptive: None if the matrix was given instead of reconstructed.
    """

    parameters: LoopRun
    fabric: Fabric
    loaded: Ints
    time_structure: str
    before: Carried
    adaptive: Carried | None
    after: Carried
    found: Reconstruction | None
    choice: Choice | None
    routes: Routes
    score: Score
    recommended: bool
    reason: str
    wall_s: float

    def summary(self) -> TurnSummary:
        """Return the command's output, which is also part of the task's result."""
        times = {"ftree": self.before, "adaptive": self.adaptive, "loop": self.after}
        return {
            "time_ms": {name: simulation.time_s * 1e3 for name, simulation in times.items() if simulation is not None},
            "speedup_over_ftree": self.before.time_s / self.after.time_s,
            "true_gap": self.score.true_gap,
            "ftree_gap": self.score.ftree_gap,
            "time_structure": self.time_structure,
            "reconstruction": self.reconstruction(),
            "recommended": self.recommended,
            "reason": self.reason,
            "simulated": True,
            "wall_s": self.wall_s,
        }

    def reconstruction(self) -> TurnReconstruction | None:
        """Return the result of the reconstruction; None if there was none."""
        if self.found is None or self.choice is None:
            return None
        return {
            "basis": self.choice.basis,
            "held_out": self.choice.missed,
            "relative_error": self.score.relative_error,
            **describe_search(self.found),
        }


def make_stages(
    report: Report | None, stop: Callable[[], bool], count: int
) -> Callable[[int, str], Callable[[str], None]]:
    """Return a function that reports the start of one of `count` stages, or raises Cancelled, and returns one that reports details of the stage."""

    def stage(done: int, what: str) -> Callable[[str], None]:
        if stop():
            raise Cancelled("the loop was cancelled")
        if report is not None:
            report(done, count, what)
        return lambda detail: None if report is None else report(done, count, f"{what}: {detail}")

    return stage


def run_turn(parameters: LoopRun, report: Report | None = None) -> tuple[TurnSummary, Ints]:
    """Run one turn. Return the command's output and the new tables."""
    outcome = simulate_turn(parameters, report)
    return outcome.summary(), outcome.routes.ports


def simulate_turn(
    parameters: LoopRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> Turn:
    """Run one turn and return all its results. Raise BadRequest or BadInput if the traffic or the fabric does not fit. Raise Cancelled."""
    started = time.monotonic()
    fabric = fabric_of(parameters.topology)
    loaded = ftree_tables(fabric)
    stop = cancelled or (lambda: False)
    stage = make_stages(report, stop, STAGES)
    with MachineProcess(parameters, stop) as machine:
        stage(0, "simulating the loaded routes")
        order = machine.call("describe")
        before = machine.call("simulate", loaded)
        stage(1, "simulating adaptive routing")
        adaptive = machine.call("simulate", None)
        say = stage(2, "reconstructing traffic from counters")
        measured = machine.call("measured")
        slots, choice = reconstruct_slots(
            fabric, loaded, measured, parameters.basis, parameters.reconstruct_s, say, stop
        )
        reconstruction = combined_slots(slots)
        say = stage(3, "optimising routes")
        routes = routes_for(fabric, slots, parameters.optimise_s, parameters.seed, say, stop)
        stage(4, "simulating the new routes")
        after = machine.call("simulate", routes.ports)
        stage(5, "scoring")
        score = machine.call("score", reconstruction.pairs, reconstruction.size, routes.ports)
    recommended, reason = is_recommended(before.time_s, after.time_s, reconstruction.estimated_error, parameters.slots)
    return Turn(
        parameters,
        fabric,
        loaded,
        order,
        before,
        adaptive,
        after,
        reconstruction,
        choice,
        routes,
        score,
        recommended,
        reason,
        time.monotonic() - started,
    )


def optimised_turn(
    parameters: LoopRun, report: Report | None = None, cancelled: Callable[[], bool] | None = None
) -> Turn:
    """Return routes for given traffic, simulated before and after, without reconstruction. Raises the errors of `simulate_turn`."""
    started = time.monotonic()
    fabric = fabric_of(parameters.topology)
    loaded, stop = ftree_tables(fabric), cancelled or (lambda: False)
    demand = demand_of(parameters.pattern, fabric, parameters.megabytes, parameters.iterations, parameters.seed)

    def say(done: int, what: str) -> None:
        if report is not None:
            report(done, 4, what)

    say(0, "optimising routes")
    routes = optimise_slots(
        fabric,
        demand.matrices(parameters.slots, parameters.mtu),
        parameters.optimise_s,
        parameters.seed,
        lambda detail: say(0, detail),
        stop,
    )
    with MachineProcess(parameters, stop) as machine:
        say(1, "simulating the loaded routes")
        before = machine.call("simulate", loaded)
        say(2, "simulating the new routes")
        after = machine.call("simulate", routes.ports)
        say(3, "scoring")
        score = machine.call("score", None, None, routes.ports)
    recommended, reason = is_recommended(before.time_s, after.time_s, None, parameters.slots)
    return Turn(
        parameters,
        fabric,
        loaded,
        demand.time_structure,
        before,
        None,
        after,
        None,
        None,
        routes,
        score,
        recommended,
        reason,
        time.monotonic() - started,
    )


def is_recommended(before_s: float, after_s: float, estimated_error: float | None, slots: int = 1) -> tuple[bool, str]:
    """Return whether new routes can be recommended after a simulation of the ordered messages, and the reason."""
    if after_s <= EVEN * before_s:
        how = "no slower" if after_s > before_s / EVEN else f"{before_s / after_s:.2f} times as fast"
        return True, f"Simulated {after_s * 1e3:.3f} ms instead of {before_s * 1e3:.3f} ms: {how}."
    cause = (
        f"the reconstruction is uncertain (estimated error {estimated_error:.0%})"
        if estimated_error is not None and estimated_error > UNSURE
        else "balanced loads do not help if the order of messages decides"
        + ("; routes for several time slots may" if slots == 1 else "")
    )
    return False, f"Simulated {after_s * 1e3:.3f} ms, slower than {before_s * 1e3:.3f} ms: {cause}."
