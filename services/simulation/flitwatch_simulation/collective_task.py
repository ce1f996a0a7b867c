"""A collective under perturbation as a task."""

from __future__ import annotations

from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.task_models.simulations import Collective
from flitwatch_simulation import collectives, routings, topologies


def collective(args: dict[str, Any], context: TaskContext) -> collectives.CollectiveResult:
    """`sim.collective`: the options of `flitwatch sim collective`."""
    asked = Collective.of(args)

    def watch(done: int, total: int) -> bool:
        context.report(done, total, "runs")
        return not context.cancelled()

    named = topologies.parse(asked.topology)
    return collectives.collective(asked, named, routings.routes_of(named, asked.routing), watch)
