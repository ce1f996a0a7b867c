"""Tasks put into the queue for a caller, who may have so many at once."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from flitwatch_api.people.access import made_by
from flitwatch_api.platform import Platform
from flitwatch_db import tasks as queue
from flitwatch_db.people.accounts import Caller
from flitwatch_domain.errors import TooMany


async def begin(request: Request, platform: Platform, name: str, args: dict[str, Any]) -> int:
    """Put work into the queue; its number.

    Raises
    ------
    TooMany
        So many of the caller's wait or run already; nothing limits whoever may `operate`.
    """
    asker = made_by(request)
    caller = request.state.caller
    most = None if "operate" in caller.scopes else platform.settings.api_tasks_each
    return await platform.in_thread("writer", lambda conn: _start(conn, name, args, asker, most, is_authorised(caller)))


def is_authorised(caller: Caller) -> bool:
    """Whether what a caller's tasks recommend is for the site: with scope `operate`, or by a service's token; else it is a what-if of theirs."""
    return "operate" in caller.scopes or (caller.role == "service" and caller.via == "token")


def _start(conn: Any, name: str, args: dict[str, Any], asker: str, most: int | None, authorised: bool) -> int:
    if most is not None and queue.open_of(conn, asker) >= most:
        raise TooMany(
            f"{most} tasks of {asker} wait or run, which is the limit api_tasks_each",
            advice="Wait for some, or cancel them.",
            retry_after_s=60,
        )
    return queue.start(conn, name, args, created_by=asker, authorised=authorised)
