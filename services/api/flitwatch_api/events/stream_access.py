"""Access check of a stream, repeated while the stream is open."""

from __future__ import annotations

import math
import time

import psycopg
from fastapi import Request

from flitwatch_api.people.callers import BELIEVED_S, Callers
from flitwatch_domain.errors import FlitwatchError

#: Interval of a stream's checks of its caller.
CHECK_S = BELIEVED_S
SLOTS = 20


class StreamAccess:
    """Access to a stream. It ends with the token, session or account that opened the stream, or when their rights change."""

    def __init__(self, request: Request) -> None:
        self._request, self._caller = request, request.state.caller
        self._callers: Callers = request.app.state.callers
        self._due_s = _next_check_s()

    async def may_continue(self, tells: bool) -> bool:
        """Return whether the stream may continue. While the database is unavailable, it may continue only without sending events (`tells`)."""
        if time.monotonic() < self._due_s:
            return True
        try:
            same = await self._callers.is_still_valid(self._request, self._caller)
        except (psycopg.Error, FlitwatchError):
            return not tells
        self._due_s = _next_check_s()
        return same

    @property
    def due_in_s(self) -> float:
        """Return the seconds until the next check, or the check interval if the last check failed."""
        left_s = self._due_s - time.monotonic()
        return left_s if left_s > 0 else CHECK_S


def _next_check_s() -> float:
    """Return the monotonic time of a stream's next check: one of SLOTS times in each CHECK_S, so that many streams are checked together."""
    slot_s = CHECK_S / SLOTS
    return math.floor((time.monotonic() + CHECK_S) / slot_s) * slot_s
