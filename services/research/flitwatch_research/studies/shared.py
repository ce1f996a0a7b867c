"""A sweep whose parts are shared among an executor's workers, with results identical to a run on one host."""

from __future__ import annotations

import time
from functools import partial

from flitwatch_db.tasks.executors import Executor
from flitwatch_domain.errors import BadRequest
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
