"""Routes of tasks."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from flitwatch_api.alerts.schemas import check_tried
from flitwatch_api.answers import build_model, dump_json, json_response
from flitwatch_api.names import TASKS_WITHOUT_JOBS, Names, TheNames, hidden_jobs_error, names_of
from flitwatch_api.parameters import CursorText, Id, Limit, Text, make_cursor, read_page_cursor
from flitwatch_api.people.access import made_by, require_access
from flitwatch_api.people.visits import hand_over
from flitwatch_api.platform import Platform, Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_api.tasks import shown
from flitwatch_api.tasks.begin import begin_file, begin_task, receive_file, sees_tasks_as
from flitwatch_api.tasks.shown import SHARED, is_own, shown_task
from flitwatch_db import tasks as queue
from flitwatch_db.core.columns import Connection
from flitwatch_db.runs import reads as runs
from flitwatch_db.tasks import files, record
from flitwatch_domain.errors import Forbidden, NotFound, TooCostly
from flitwatch_domain.neighbourhood import OURS
from flitwatch_domain.task_models import AnyTask, Arguments
from flitwatch_domain.task_models.costs import check_cost
from flitwatch_domain.task_models.measured import Application

http = APIRouter(prefix="/tasks", tags=["tasks"], responses=RESPONSES)

MAX_ARGS_BYTES = 65_536
#: OpenAPI cannot see a body that a route reads from the stream.
FILE_BODY = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
State = Literal["queued", "running", "succeeded", "failed", "cancelled"]


async def _find_task(conn: Connection, task_id: int, request: Request) -> record.Row:
    """Return a task: the caller's own or an account's, or another visit's if the address of its result can be shared."""
    row = await record.find_task(conn, task_id, sees_tasks_as(request))
    if row is None:
        row = await record.find_task(conn, task_id)
        row = row if row and row["name"] in SHARED else None
    if row is None:
        raise NotFound(f"there is no task {task_id}", advice="/api/v1/tasks lists them.")
    return row


async def _resolve_arguments(conn: Any, names: Names, given: Arguments) -> Arguments:
    """Return the arguments for a worker. Below scope `names`, an application is named without its folders."""
    if not names.pseudonyms or not isinstance(given, Application):
        return given
    if "/" in given.exe:
        raise Forbidden(
            "without scope names, give only the name of an application, not its path",
            advice="/api/v1/estimates lists them.",
        )
    whole = await runs.find_executable(conn, given.exe, given.nodes)
    return given if whole is None else given.model_copy(update={"exe": whole})


def _check_named(request: Request, names: Names, name: str, args: dict[str, Any]) -> None:
    """Refuse arguments that name another user, for callers who see pseudonyms, and arguments that affect all users, for callers who do not operate
    the site. Raise BadInput or Forbidden."""
    if name == "alerting.test":
        check_tried(args.get("rule"), names)
    if name == "routing.advice" and names.pseudonyms and args.get("user") not in (None, names.own):
        raise Forbidden(
            "without scope names, you can only name yourself as user", advice="Leave `user` out, or ask an operator."
        )
    if name == "ml.blame" and args.get("least_nodes") is not None and "operate" not in request.state.caller.scopes:
        raise Forbidden(
            "`least_nodes` changes the estimate for everyone, which requires scope operate",
            advice="Leave it out, or ask an operator.",
        )
    changes = name in ("ml.deviation", "ml.forecast") and args.get("definition") not in (None, OURS.name)
    if changes and "operate" not in request.state.caller.scopes:
        raise Forbidden(
            "another `definition` changes the estimate for everyone, which requires scope operate",
            advice="Leave it out, or ask an operator.",
        )


@http.get("", response_model=shown.TaskList)
async def tasks(
    request: Request,
    conn: Reader,
    names: TheNames,
    name: Text = None,
    state: Annotated[State | None, Query()] = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List tasks, newest first. Among tasks started without a login, only those of the caller's own visit are listed."""
    rows = await record.list_tasks(
        conn, limit + 1, read_page_cursor(cursor), name or None, state, sees_tasks_as(request)
    )
    items = [shown_task(row, request, names) for row in rows[:limit]]
    following = make_cursor(items[-1].task_id) if len(rows) > limit else None
    return json_response(build_model(shown.TaskList, items=items, next_cursor=following))


@http.get("/{task_id}", response_model=shown.Task)
async def task(request: Request, conn: Reader, names: TheNames, task_id: Id) -> Response:
    """Return one task with its progress and result."""
    return json_response(shown_task(await _find_task(conn, task_id, request), request, names))


@http.post("", response_model=shown.Task, status_code=202, openapi_extra=require_access("user", "tasks"))
async def start(request: Request, platform: ThePlatform, new: AnyTask) -> Response:
    """Add a task to the queue. A worker runs it."""
    async with platform.reading() as conn:
        names = await names_of(request, conn)
        args = (await _resolve_arguments(conn, names, new.args)).given()
    size = len(dump_json(args))
    if size > MAX_ARGS_BYTES:
        raise TooCostly(
            f"the arguments take {size:,} bytes; the limit MAX_ARGS_BYTES is {MAX_ARGS_BYTES:,}",
            advice="Give fewer.",
        )
    if names.hides_jobs and new.name not in TASKS_WITHOUT_JOBS:
        raise hidden_jobs_error("this task reads them")
    _check_named(request, names, new.name, args)
    check_cost(request.state.caller.role, new.name, args)
    task_id = await begin_task(request, platform, new.name, args, new.args.files())
    async with platform.reading() as conn:
        row = await _find_task(conn, task_id, request)
    return hand_over(
        request, json_response(shown_task(row, request, names), status=202, location=f"/api/v1/tasks/{task_id}")
    )


@http.post(
    "/files",
    response_model=shown.TaskFile,
    status_code=201,
    responses={429: RESPONSES[404] | {"description": "The caller has too many waiting tasks."}},
    openapi_extra=require_access("user", "tasks") | {"requestBody": FILE_BODY},
)
async def add_file(request: Request, platform: ThePlatform) -> Response:
    """Upload a file for a task to read: the unchanged body, plain or compressed. It is deleted when its task ends. Without a task, it is deleted after a day, or
    after an hour if the caller is not logged in."""
    number = await begin_file(request, platform)
    try:
        size = await receive_file(request, platform, number)
    except BaseException:
        # Truncated or too long: the stored part is useless.
        await asyncio.shield(_drop_file(platform, number))
        raise
    return hand_over(request, json_response(build_model(shown.TaskFile, file=number, bytes=size), status=201))


async def _drop_file(platform: Platform, number: int) -> None:
    with contextlib.suppress(NotFound):
        await platform.in_thread("writer", lambda conn: files.delete_file(conn, number, None))


@http.delete("/files/{file_id}", status_code=204, openapi_extra=require_access("user", "tasks"))
async def delete_file(request: Request, platform: ThePlatform, file_id: Id) -> Response:
    """Delete an uploaded file that waits for a task. Below scope `operate`, only the caller's own tasks."""
    author = None if "operate" in request.state.caller.scopes else made_by(request)
    await platform.in_thread("writer", lambda conn: files.delete_file(conn, file_id, author))
    return Response(status_code=204)


@http.post(
    "/{task_id}/cancel",
    response_model=shown.Task,
    status_code=202,
    responses={409: RESPONSES[404] | {"description": "The task has ended."}},
    openapi_extra=require_access("user", "tasks"),
)
async def cancel(request: Request, platform: ThePlatform, task_id: Id) -> Response:
    """Ask a task to stop at its next step. Below scope `operate`, only the caller's own tasks."""
    async with platform.reading() as conn:
        row, names = await _find_task(conn, task_id, request), await names_of(request, conn)
    if not is_own(row, request) and "operate" not in request.state.caller.scopes:
        raise Forbidden(f"task {task_id} belongs to another person", advice="Ask its author or an operator.")
    await platform.in_thread("writer", lambda conn: queue.cancel_task(conn, task_id))
    async with platform.reading() as conn:
        return json_response(shown_task(await _find_task(conn, task_id, request), request, names), status=202)
