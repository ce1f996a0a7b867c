"""Routing work as tasks: `routing.loop`, `routing.optimise`, `routing.reconstruct`; the first two store a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.estimates import recommendations
from flitwatch_db.tasks import TaskContext
from flitwatch_domain.task_models.routes import Loop, Optimise
from flitwatch_domain.topology_spec import fabric_of
from flitwatch_routing.baselines import ftree_tables
from flitwatch_simulation.loop.estimate import combined_slots, reconstruct_slots
from flitwatch_simulation.loop.matrices import by_place
from flitwatch_simulation.loop.outcome import turn_recommendation
from flitwatch_simulation.loop.parameters import LoopRun
from flitwatch_simulation.loop.process import MachineProcess
from flitwatch_simulation.loop.turn import (
    TurnReconstruction,
    TurnSummary,
    describe_search,
    optimised_turn,
    simulate_turn,
)

#: Number of pairs in a task's result, in descending order of bytes.
MOST_PAIRS = 10_000


class LoopResult(TurnSummary):
    recommendation_id: int


class RoutesResult(LoopResult):
    """The same, with the routes' largest load `z` in bytes, its lower bound `z_ar`, and relative gaps to both bounds."""

    z: float
    z_ar: float
    ar_gap: float | None
    bound_gap: float | None
    proven: bool
    worst_links: int


class TrafficPairs(TypedDict):
    """Columns of pairs of endpoints, with bytes and intervals."""

    src: list[Any]
    dst: list[Any]
    bytes: list[Any]
    low: list[Any]
    high: list[Any]


class TrafficMatrix(TypedDict):
    """Bytes between places."""

    by: str
    labels: Sequence[str]
    bytes: list[list[float]]


class ReconstructionResult(TurnReconstruction):
    """A machine's reconstructed traffic: errors, cost of the search, largest pairs, and the matrix by router."""

    simulated: bool
    pairs: TrafficPairs
    pairs_left_out: int
    matrix: TrafficMatrix


def run_loop_task(args: dict[str, Any], context: TaskContext) -> LoopResult:
    """Run the loop with progress by stage; a cancelled task stops within a stage. The result contains the recommendation's id."""
    parameters = parameters_of(Loop.of(args))
    outcome = simulate_turn(parameters, context.report, context.cancelled)
    with connect(context.dsn, role="writer", application="flitwatch loop") as conn:
        fabric_id = recommendations.fabric_named(conn, outcome.fabric.name)
        number = recommendations.save_recommendation(
            conn, turn_recommendation(outcome, fabric_id, context.task_id, dict(args))
        )
    return {**outcome.summary(), "recommendation_id": number}


def optimise_routes_task(args: dict[str, Any], context: TaskContext) -> RoutesResult:
    """Optimise routes for given traffic, simulate before and after, and store the recommendation."""
    request = Optimise.of(args)
    parameters = parameters_of(request)
    if request.time_limit_s is not None:
        parameters = replace(parameters, optimise_s=request.time_limit_s)
    outcome = optimised_turn(parameters, context.report, context.cancelled)
    with connect(context.dsn, role="writer", application="flitwatch routes") as conn:
        fabric_id = recommendations.fabric_named(conn, outcome.fabric.name)
        number = recommendations.save_recommendation(
            conn, turn_recommendation(outcome, fabric_id, context.task_id, dict(args))
        )
    r = outcome.routes
    return {
        "z": r.z,
        "z_ar": r.z_ar,
        "ar_gap": r.ar_gap,
        "bound_gap": r.bound_gap,
        "proven": r.proven,
        "worst_links": r.worst_links,
        **outcome.summary(),
        "recommendation_id": number,
    }


def reconstruct_traffic(args: dict[str, Any], context: TaskContext) -> ReconstructionResult:
    """Reconstruct a simulated machine's traffic; return the largest pairs and the matrix by router."""
    parameters = parameters_of(Loop.of(args))

    def say(text: str) -> None:
        context.report(1, 2, text)

    with MachineProcess(parameters, context.cancelled) as machine:
        context.report(0, 2, "counting")
        measured = machine.call("measured")
        fabric = fabric_of(parameters.topology)
        slots, choice = reconstruct_slots(
            fabric, ftree_tables(fabric), measured, parameters.basis, parameters.reconstruct_s, say, context.cancelled
        )
        reconstruction = combined_slots(slots)
        error = machine.call("error", reconstruction.pairs, reconstruction.size)
    strongest = np.argsort(-reconstruction.size, kind="stable")[:MOST_PAIRS]
    strongest = strongest[reconstruction.size[strongest] > 0]
    matrix = by_place(fabric, (reconstruction.pairs.src, reconstruction.pairs.dst, reconstruction.size), "router")
    return {
        "relative_error": error,
        **describe_search(reconstruction),
        "basis": choice.basis,
        "held_out": choice.missed,
        "simulated": True,
        "pairs": {
            "src": _none_if_nan(reconstruction.pairs.src[strongest]),
            "dst": _none_if_nan(reconstruction.pairs.dst[strongest]),
            "bytes": _none_if_nan(reconstruction.size[strongest]),
            "low": _none_if_nan(reconstruction.low[strongest]),
            "high": _none_if_nan(reconstruction.high[strongest]),
        },
        "pairs_left_out": int((reconstruction.size > 0).sum()) - len(strongest),
        "matrix": {"by": "router", "labels": matrix.labels, "bytes": np.rint(matrix.values).tolist()},
    }


def _none_if_nan(column: NDArray[Any]) -> list[Any]:
    """Return a list with None for NaN, because JSON has no NaN."""
    return [None if number != number else number for number in column.tolist()]


def parameters_of(asked: Loop) -> LoopRun:
    """Return the parameters from a task's arguments."""
    return LoopRun(**asked.model_dump(exclude={"time_limit_s"}))
