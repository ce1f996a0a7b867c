"""A collective under perturbation as a task."""

from __future__ import annotations

from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.task_models.simulations import Collective
from flitwatch_research import collectives, routings, topologies


def run_collective_task(args: dict[str, Any], context: TaskContext) -> collectives.CollectiveResult:
    """Run `sim.collective` with the options of `flitwatch sim collective`."""
    request = Collective.of(args)

    def watch(done: int, total: int) -> bool:
        context.report(done, total, "runs")
        return not context.cancelled()

    named = topologies.parse_topology(request.topology)
    return collectives.run_collective(request, named, routings.routes_of(named, request.routing), watch)
