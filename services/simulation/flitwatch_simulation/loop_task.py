"""The closed loop as a task: `routing.loop`, its arguments those of `flitwatch loop run`."""

from __future__ import annotations

from typing import Any

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.loop import LoopRun, run


def loop(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """Run the loop with progress by stage; a cancelled task stops within a stage."""
    try:
        parameters = LoopRun(**args)
    except TypeError as bad:
        raise BadRequest(
            f"the task does not know these arguments: {bad}", advice="See `flitwatch loop run --help`"
        ) from bad
    return run(parameters, context.report, context.cancelled)[0]
