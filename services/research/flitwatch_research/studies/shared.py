"""A sweep whose parts are shared among an executor's workers, with results identical to a run on one host."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_db.tasks.executors import Executor, is_local, open_executor
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.studies import read_study
from flitwatch_research.studies import registry
from flitwatch_research.studies.registry import Cancelled, Parameters, Report, Study
from flitwatch_research.studies.sweep import SweepPart, SweepRuns, compute_part


def run_shared(
    study: Study, parameters: Parameters, executor: Executor, report: Report, cancelled: Cancelled
) -> Parameters:
    """Return the study's result, with parts computed by the executor.

    Raises
    ------
    BadRequest
        The study is not a sweep and cannot be divided.
    Cancelled
    """
    if study.plan is None:
        raise BadRequest(f"study {study.name} has no parts to share", advice="Run it with --executor local.")
    started = time.monotonic()
    points = study.plan(parameters)
    parts = [part for point in points for part in point.parts()]
    results: dict[int, SweepRuns] = {}
    report(0, len(parts), f"{executor.workers} workers")
    for number, runs in executor.completed([partial(_compute_part, part) for part in parts], cancelled):
        results[number] = runs
        report(len(results), len(parts), f"{executor.workers} workers")
    remaining = iter(results[number] for number in range(len(parts)))
    by_point = [[next(remaining) for _ in point.parts()] for point in points]
    return study.answer(points, by_point, parameters, time.monotonic() - started)


def _compute_part(part: SweepPart) -> SweepRuns:
    # The engine returns to Python periodically, where a request to stop takes effect.
    return compute_part(part, 1, lambda done, total: True)


def run_study_task(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Run `sim.study {study, parameters}`."""
    request = read_study(args)
    parameters = request.parameters.given()
    chosen = registry.find_study(request.study)
    if chosen.plan is None or is_local(context.executor):
        return chosen.run(parameters, context.report, context.cancelled)
    with open_executor(context.executor) as executor:
        return run_shared(chosen, parameters, executor, context.report, context.cancelled)
