"""Tasks as shown to a caller."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from fastapi import Request
from pydantic import BaseModel, Field

from flitwatch_api.alerts import schemas as alerts
from flitwatch_api.answers import Page, build_model
from flitwatch_api.names import TASKS_WITHOUT_JOBS, Names
from flitwatch_api.people.access import made_by
from flitwatch_db.tasks.record import Row
from flitwatch_domain.access import VISITOR
from flitwatch_domain.errors import FlitwatchError


class Task(BaseModel):
    """Work in the queue."""

    task_id: int
    name: str
    args: dict[str, Any] | None = Field(
        description="Null below scope names if another account started it and it may be about people. The same holds for result and error."
    )
    state: str = Field(description="queued, running, succeeded, failed or cancelled")
    done: int
    total: int
    message: str
    cancel_requested: bool
    result: Any | None
    error: Any | None
    created_by: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class TaskList(Page[Task]):
    """A page of tasks."""


class TaskFile(BaseModel):
    """An uploaded file that waits for its task."""

    file: int = Field(description="Number of the file, for arguments of tasks.")
    bytes: int


log = logging.getLogger(__name__)

#: The lab's simulations: arguments and results contain no names, and a visitor can share the address of a result.
SHARED = frozenset(
    {
        "sim.study",
        "sim.collective",
        "sim.packet",
        "sim.whatif",
        "routing.loop",
        "routing.optimise",
        "routing.reconstruct",
    }
)
#: Tasks about machines: every caller sees their arguments and results.
ABOUT_MACHINES = SHARED | {"demo.count"}

UNREADABLE = {"kind": "internal", "message": "this task's stored arguments or result cannot be shown; start it again"}


def is_own(row: Row, request: Request) -> bool:
    """Return whether the caller started a task; for callers without a login, in this visit."""
    return bool(row["created_by"] == made_by(request))


def shown_task(row: Row, request: Request, names: Names) -> Task:
    """Return a task. Below scope `names`, only machine tasks and the caller's own tasks include arguments and result, and other authors are hidden."""
    try:
        return build_model(Task, _mask_task(row, request, names))
    except (FlitwatchError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # A row of another version, for example. It must not fail the whole list, and shows nothing that may contain a name.
        log.exception("task %s cannot be shown", row["task_id"])
        blank = {**row, "args": None, "result": None, "message": "", "created_by": None, "error": UNREADABLE}
        return build_model(Task, blank)


def _mask_task(row: Row, request: Request, names: Names) -> Row:
    if not names.pseudonyms:
        # On a simulated machine everyone sees names, but a visit's identifier stays hidden.
        visit = not request.state.saw_names and (row["created_by"] or "").startswith(VISITOR)
        return {**row, "created_by": names.author(row["created_by"])} if visit else row
    own = is_own(row, request)
    if names.hides_jobs and row["name"] not in TASKS_WITHOUT_JOBS:
        return {**row, "args": None, "message": "", "result": None, "error": None, "created_by": None}
    by = row["created_by"]
    row = {**row, "created_by": None if by is None else names.author(by)}
    if own:
        return alerts.dry_run(row, names) if row["name"] == "alerting.test" else _without_folders(row, names)
    if row["name"] in ABOUT_MACHINES:
        return row
    return {**row, "args": None, "message": "", "result": None, "error": None}


def _without_folders(row: Row, names: Names) -> Row:
    """Return one of the caller's own tasks, with its application as they named it."""
    exe = row["args"].get("exe") if row["args"] else None
    if not isinstance(exe, str) or names.path(exe) == exe:
        return row
    error = row["error"]
    if isinstance(error, dict):
        error = {
            name: word.replace(exe, names.path(exe)) if isinstance(word, str) else word for name, word in error.items()
        }
    return {**row, "args": {**row["args"], "exe": names.path(exe)}, "error": error}
