"""Adding tasks to the queue for a caller, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import Request

from flitwatch_api.people.access import made_by
from flitwatch_api.people.callers import Callers
from flitwatch_api.people.visits import Visit
from flitwatch_api.platform import Platform
from flitwatch_api.security import SMALLER_FILE
from flitwatch_api.settings import Settings
from flitwatch_db import tasks as queue
from flitwatch_db.tasks import files
from flitwatch_domain.access import VISITOR, Caller
from flitwatch_domain.errors import TooCostly, TooMany


async def receive_file(request: Request, platform: Platform, number: int) -> int:
    """Store a request's body as the content of a file, and return its number of bytes. Raise TooCostly if the body exceeds the file limit. Raise
    NotFound if the file was deleted meanwhile."""
    buffer, size, count = bytearray(), 0, 0
    async for block in request.stream():
        buffer += block
        size += len(block)
        if size > files.MAX_FILE_BYTES:
            raise TooCostly(
                f"the file is too large; the limit MAX_FILE_BYTES is {files.MAX_FILE_BYTES:,}", advice=SMALLER_FILE
            )
        while len(buffer) >= files.PIECE_BYTES:
            await _store_piece(platform, number, count, bytes(buffer[: files.PIECE_BYTES]))
            del buffer[: files.PIECE_BYTES]
            count += 1
    if buffer:
        await _store_piece(platform, number, count, bytes(buffer))
    await platform.in_thread("writer", lambda conn: files.complete_file(conn, number, size))
    return size


async def _store_piece(platform: Platform, number: int, count: int, content: bytes) -> None:
    await platform.in_thread("writer", lambda conn: files.append_piece(conn, number, count, content))


_LATER_S = 60


async def begin_task(
    request: Request, platform: Platform, name: str, args: dict[str, Any], reads: Sequence[int] = ()
) -> int:
    """Add a task to the queue and return its number. The response to a caller without a login needs `visits.hand_over`.

    Parameters
    ----------
    reads : sequence of int
        Uploaded files that the task uses; callers with scope `operate` can use other callers' files.

    Raises
    ------
    TooMany
        The caller has too many waiting and running tasks. Callers with scope `operate` have no limit.
    NotFound
        A file is missing or belongs to another caller.
    """
    caller: Caller = request.state.caller
    visit = await _visit_of(request)
    check = _make_limit_check(caller, visit, platform.settings)
    author = made_by(request) if visit is None else visit.author

    def start(conn: Any) -> int:
        if "operate" not in caller.scopes:
            check(conn)
        number = queue.start_task(
            conn, name, args, created_by=author, authorised=is_authorised(caller), role=caller.role
        )
        if reads:
            files.claim_files(conn, number, reads, None if "operate" in caller.scopes else author)
        return number

    number = await platform.in_thread("writer", start)
    request.state.visit = visit
    return number


async def begin_file(request: Request, platform: Platform) -> int:
    """Create an empty file of the caller and return its number. The response to a caller without a login needs `visits.hand_over`. Raise TooMany if
    the caller has too many waiting tasks."""
    visit = await _visit_of(request)
    author = made_by(request) if visit is None else visit.author
    together = None if visit is None else (visit.from_here, VISITOR)
    number = await platform.in_thread("writer", lambda conn: files.begin_file(conn, author, together))
    request.state.visit = visit
    return number


async def _visit_of(request: Request) -> Visit | None:
    """Return the visit of a caller without a login, starting one if necessary; None for other callers."""
    caller: Caller = request.state.caller
    callers: Callers = request.app.state.callers
    visit: Visit | None = getattr(request.state, "visit", None)
    if caller.via == "anonymous" and visit is None:
        visit = await callers.visits.begin(request)
    return visit


def is_authorised(caller: Caller) -> bool:
    """Return whether a caller's recommendations are for the site (scope `operate`, or a service's token) or only the caller's what-ifs."""
    return "operate" in caller.scopes or (caller.role == "service" and caller.via == "token")


def sees_tasks_as(request: Request) -> str | None:
    """Return the author whose tasks the caller may see among visitors' tasks; None for all, with scope `operate` or `names`."""
    return None if {"operate", "names"} & request.state.caller.scopes else made_by(request)


def _make_limit_check(caller: Caller, visit: Visit | None, settings: Settings) -> Callable[[Any], None]:
    """Return a check that refuses a caller with the maximum number of open tasks. For visits, it also limits visits per address and all visitors'
    tasks."""

    def of_account(conn: Any) -> None:
        most = settings.api_tasks_each
        if queue.open_of(conn, caller.name) >= most:
            raise _too_many(f"{most} tasks of {caller.name} are waiting or running; the limit api_tasks_each is {most}")

    def of_visit(conn: Any) -> None:
        assert visit is not None
        own, visits, everyone = queue.open_of_visits(conn, visit.author, visit.from_here, VISITOR)
        most, together = settings.api_tasks_visit, settings.api_tasks_anonymous
        if own >= most:
            raise _too_many(f"{own} of your tasks are waiting or running; the limit api_tasks_visit is {most}")
        if own == 0 and visits >= most:
            words = (
                f"{visits} visits from your address have tasks that wait or run; the limit api_tasks_visit is {most}"
            )
            raise _too_many(words)
        if everyone >= together:
            words = (
                f"{everyone} tasks of callers without a login wait or run; the limit api_tasks_anonymous is {together}"
            )
            raise _too_many(words, "Wait until some finish, or log in.")

    return of_account if visit is None else of_visit


def _too_many(words: str, advice: str = "Wait until some end, or cancel them.") -> TooMany:
    return TooMany(words, advice=advice, retry_after_s=_LATER_S)
