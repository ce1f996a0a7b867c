"""Studies as tasks. A sweep is cut into parts that every idle worker helps with.

The task of a sweep stores its parts, calls for helpers, and takes parts itself until all are done: one worker alone gets
through, and every further one, on any machine, makes it faster.
"""

from __future__ import annotations

import time
from typing import Any, TypedDict, cast

import psycopg

from flitwatch_db import connect, tasks
from flitwatch_db.tasks import TaskContext, sweeps
from flitwatch_domain.errors import Cancelled, NotFound
from flitwatch_domain.task_models.studies import StudyHelp, read_study
from flitwatch_research.studies import registry, sweep

#: A part is held for so long at a time; a worker that dies loses it after that.
HOLD_S = 30.0
#: Helpers called for a sweep: more workers than this add nothing to a single one.
MOST_HELPERS = 64
#: How often progress is looked at while others finish the last parts.
PATIENCE_S = 0.5


def study(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """`sim.study {study, parameters}`: a sweep in parts, any other study in one piece."""
    asked = read_study(args)
    parameters = asked.parameters.given()
    chosen = registry.find(asked.study)
    if chosen.plan is None:
        return chosen.run(parameters, context.report, context.cancelled)
    started = time.monotonic()
    points = chosen.plan(parameters)
    parts = [part for point in points for part in point.parts()]
    results = _through_parts(parts, asked.parameters.threads or 1, context)
    return chosen.answer(points, _by_point(points, results), parameters, time.monotonic() - started)


class SweepHelp(TypedDict):
    """How many parts a helper computed."""

    parts: int


def help_out(args: dict[str, Any], context: TaskContext) -> SweepHelp:
    """`sim.study_help {task}`: take parts of a sweep until none is left; ends at once where there is nothing to do."""
    asked = StudyHelp.of(args)
    with connect(context.dsn, role="writer", application="flitwatch sweep", autocommit=True) as conn:
        return {"parts": _take_parts(conn, asked.task, asked.threads, context)}


def _through_parts(parts: list[sweep.SweepPart], threads: int, context: TaskContext) -> list[sweep.SweepRuns]:
    with connect(context.dsn, role="writer", application="flitwatch sweep", autocommit=True) as conn:
        sweeps.create(conn, context.task_id, parts)
        for _ in range(min(len(parts) - 1, MOST_HELPERS)):
            tasks.start(
                conn, "sim.study_help", {"task": context.task_id, "threads": threads}, f"task {context.task_id}"
            )
        while True:
            _take_parts(conn, context.task_id, threads, context)
            done, total = sweeps.progress(conn, context.task_id)
            context.report(done, total, "parts")
            if done == total:
                return cast(list[sweep.SweepRuns], sweeps.collect(conn, context.task_id))
            context.check()
            time.sleep(PATIENCE_S)


def _take_parts(conn: psycopg.Connection[Any], sweep_task: int, threads: int, context: TaskContext) -> int:
    finished = 0
    while (taken := sweeps.take(conn, sweep_task, context.task_id, HOLD_S)) is not None:
        part, args = taken
        beat = _Beat(conn, sweep_task, part, context)
        try:
            sweeps.finish(conn, sweep_task, part, sweep.compute_part(cast(sweep.SweepPart, args), threads, beat))
        except Cancelled:
            sweeps.release(conn, sweep_task, part, context.task_id)
            context.check()
            return finished  # the sweep ended without this helper
        finished += 1
        done, total = sweeps.progress(conn, sweep_task)
        context.report(done, total, "parts")
    return finished


class _Beat:
    """Keeps a part while it is computed, and says whether to go on."""

    def __init__(self, conn: psycopg.Connection[Any], sweep_task: int, part: int, context: TaskContext) -> None:
        self._conn, self._sweep_task, self._part, self._context = conn, sweep_task, part, context
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> bool:
        if self._context.cancelled():
            return False
        if time.monotonic() - self._last < 1.0:
            return True
        self._last = time.monotonic()
        return sweeps.keep(self._conn, self._sweep_task, self._part, self._context.task_id, HOLD_S)


def _by_point(points: list[sweep.Point], results: list[sweep.SweepRuns]) -> list[list[sweep.SweepRuns]]:
    if len(results) != sum(len(point.parts()) for point in points):
        raise NotFound("parts of the sweep are gone", advice="Start the study again.")
    left = iter(results)
    return [[next(left) for _ in point.parts()] for point in points]
