"""One model a task: what its arguments are. The API checks a request by it before anything is stored, the worker again before it runs.

What happens, in order: `requests` reads the body of `POST /tasks`: a name, and the arguments that this name has; `costs` estimates what they need
and holds that against the limits of the caller's role; the row is stored; the worker calls `read_arguments` again before it runs the task.

Open

- `base` for what all arguments share: no unknown fields, no conversions, no number without bounds;
- `requests` for the list of what may be started from outside;
- `machines` for topologies, routes and traffic as requests name them, without a file;
- `simulations`, `studies`, `routes` and `measured` for the arguments of each package's tasks;
- `costs` for limits by role, with `study_costs` for published studies, `exchanges` for messages, `applications` for what applications in kind do
  in a step, and `node_counts` for sizes of machines.

A new task is a model here, a line in `requests`, a line in `costs`, and a handler in the package that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.task_models.base import Arguments
from flitwatch_domain.task_models.measured import NoArguments
from flitwatch_domain.task_models.requests import NewTask
from flitwatch_domain.task_models.studies import read_study

_REQUESTS = {
    name: request
    for request in get_args(get_args(NewTask)[0])
    for name in get_args(request.model_fields["name"].annotation)
}
#: What may be started from outside; maintenance and helpers are started by the platform itself.
STARTABLE = tuple(_REQUESTS)
_READERS: dict[str, Callable[[Any], Arguments]] = {
    name: request.model_fields["args"].annotation.of for name, request in _REQUESTS.items() if name != "sim.study"
} | {"sim.study": read_study, "db.maintain": NoArguments.of}


def read_arguments(name: str, args: Any) -> Arguments:
    """A task's arguments from plain data.

    Raises
    ------
    BadRequest
        No task has that name.
    BadInput
        The arguments do not fit; names them.
    """
    reader = _READERS.get(name)
    if reader is None:
        raise BadRequest(f"there is no task {name[:100]!r}", advice=f"Tasks: {', '.join(sorted(_READERS))}.")
    return reader(args)


__all__ = ["STARTABLE", "Arguments", "NewTask", "read_arguments"]
