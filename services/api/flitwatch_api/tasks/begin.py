"""Tasks put into the queue for a caller, who may have so many at once."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from flitwatch_api.people.access import made_by
from flitwatch_api.platform import Platform
from flitwatch_db import tasks as queue
from flitwatch_domain.errors import TooMany


async def begin(request: Request, platform: Platform, name: str, args: dict[str, Any]) -> int:
    """Put work into the queue; its number.

    Raises
    ------
    TooMany
        So many of the caller's wait or run already; nothing limits whoever may `operate`.
    """
    asker = made_by(request)
    most = None if "operate" in request.state.caller.scopes else platform.settings.api_tasks_each
    return await platform.in_thread("writer", lambda conn: _start(conn, name, args, asker, most))


def _start(conn: Any, name: str, args: dict[str, Any], asker: str, most: int | None) -> int:
    if most is not None and queue.open_of(conn, asker) >= most:
        raise TooMany(
            f"{most} tasks of {asker} wait or run, which is the limit api_tasks_each",
            advice="Wait for some, or cancel them.",
            retry_after_s=60,
        )
    return queue.start(conn, name, args, created_by=asker)
