"""Handlers of this package's tasks."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from flitwatch_db.tasks.context import Handler, TaskContext
from flitwatch_domain.task_models.simulations import Count

if TYPE_CHECKING:
    from flitwatch_db.core.maintenance import Retention

#: Interval of checks of the cancel flag while waiting.
PATIENCE_S = 0.1


def lazy_handler(place: str) -> Handler:
    """Return a handler given as module:function, which is imported when its first task runs."""

    def handler(args: dict[str, Any], context: TaskContext) -> Mapping[str, Any]:
        module, function = place.split(":")
        run: Handler
        run = getattr(importlib.import_module(module), function)
        return run(args, context)

    return handler


class Counted(TypedDict):
    """Result of the counting example."""

    counted: int


def run_count(args: dict[str, Any], context: TaskContext) -> Counted:
    """Run `demo.count {to, delay_s}`: count with a pause before each number; the end-to-end example."""
    request = Count.of(args)
    for number in range(request.to):
        due = time.monotonic() + request.delay_s
        while (remaining_s := due - time.monotonic()) > 0:
            context.check()
            time.sleep(min(remaining_s, PATIENCE_S))
        context.check()
        context.report(number + 1, request.to, f"counted to {number + 1}")
    return {"counted": request.to}


def run_maintenance(args: dict[str, Any], context: TaskContext) -> Retention:
    """Run `db.maintain {}`: retention and policies."""
    from flitwatch_db.core.maintenance import maintain_database as run

    def step(done: int, total: int, what: str) -> None:
        context.check()
        context.report(done, total, what)

    return run(context.dsn, on_step=step)


#: Tasks that a worker of this package can run.
HANDLERS: dict[str, Handler] = {"demo.count": run_count, "db.maintain": run_maintenance}
