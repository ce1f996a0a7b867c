"""What a simulation worker can do; engines are imported when a task runs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from flitwatch_db.tasks import Handler, TaskContext


def _later(place: str) -> Handler:
    """A handler given as module:function, imported when the first task of its name runs."""

    def handler(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
        module, function = place.split(":")
        run: Callable[[dict[str, Any], TaskContext], dict[str, Any]]
        run = getattr(importlib.import_module(f"flitwatch_simulation.{module}"), function)
        return run(args, context)

    return handler


HANDLERS: dict[str, Handler] = {
    "sim.study": _later("study_tasks:study"),
    "sim.study_help": _later("study_tasks:help_out"),
    "sim.collective": _later("study_tasks:collective"),
    "sim.packet": _later("packet.task:packet"),
    "sim.whatif": _later("whatif:whatif"),
    "routing.loop": _later("loop.task:loop"),
    "routing.optimise": _later("loop.task:optimise"),
    "routing.advice": _later("application_aware.task:advice"),
    "routing.reconstruct": _later("loop.task:reconstruct"),
}
