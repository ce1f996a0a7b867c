"""Models of the tasks' arguments, one per task. The API validates a request before anything is stored, and the worker validates it again before the run.

A task starts in four steps. `requests` reads the body of `POST /tasks`: a name, and the task's arguments. `costs` estimates the required resources
and checks them against the limits of the caller's role. The row is stored. The worker calls `read_arguments` again before it runs the task.

Modules

- `base` for common rules: no unknown fields, no conversions, no unbounded numbers; and for sizes of machines;
- `requests` for the list of tasks that users can start;
- `machines` for topologies, routes and traffic in requests, without files;
- `simulations`, `studies`, `routes` and `measured` for the arguments of each package's tasks;
- `costs` for limits by role, with `study_costs` for published studies, `applications` for the messages and steps of application kinds.

A new task is a model here, a line in `requests`, a case in `costs`, and a handler in the package that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.base import Arguments
from flitwatch_domain.task_models.measured import NoArguments
from flitwatch_domain.task_models.requests import AnyTask
from flitwatch_domain.task_models.studies import read_study

_REQUESTS = {
    name: request
    for request in get_args(get_args(AnyTask)[0])
    for name in get_args(request.model_fields["name"].annotation)
}
#: Tasks that users can start; maintenance and helper tasks are started by the platform itself.
STARTABLE = tuple(_REQUESTS)
_READERS: dict[str, Callable[[Any], Arguments]] = {
    name: request.model_fields["args"].annotation.of for name, request in _REQUESTS.items() if name != "sim.study"
} | {"sim.study": read_study, "db.maintain": NoArguments.of}


def read_arguments(name: str, args: Any) -> Arguments:
    """Parse a task's arguments from plain data. Raise BadRequest if the task name is unknown. Raise BadInput if the arguments are invalid; the
    message names them."""
    reader = _READERS.get(name)
    if reader is None:
        raise BadRequest(f"there is no task {name[:100]!r}", advice=f"Tasks: {', '.join(sorted(_READERS))}.")
    return reader(args)


__all__ = ["STARTABLE", "AnyTask", "Arguments", "read_arguments"]
