"""Studies as tasks: a sweep's parts run on the worker's executor if that is a cluster; other studies run as a whole."""

from __future__ import annotations

from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_db.tasks.executors import is_local, open_executor
from flitwatch_domain.task_models.studies import read_study
from flitwatch_research.studies import registry, shared


def run_study_task(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Run `sim.study {study, parameters}`."""
    request = read_study(args)
    parameters = request.parameters.given()
    chosen = registry.find_study(request.study)
    if chosen.plan is None or is_local(context.executor):
        return chosen.run(parameters, context.report, context.cancelled)
    with open_executor(context.executor) as executor:
        return shared.run_shared(chosen, parameters, executor, context.report, context.cancelled)
