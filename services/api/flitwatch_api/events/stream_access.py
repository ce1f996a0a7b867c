"""The right to a stream, which is asked for again while the stream lasts."""

from __future__ import annotations

import math
import time

import psycopg
from fastapi import Request

from flitwatch_api.people.callers import BELIEVED_S, Callers
from flitwatch_domain.errors import FlitwatchError

#: How often a stream asks whether its caller is still who they were.
CHECK_S = BELIEVED_S
SLOTS = 20


class StreamAccess:
    """The right to a stream, which ends with the token, session or account that it was opened by, or when what they may do changes."""

    def __init__(self, request: Request) -> None:
        self._request, self._caller = request, request.state.caller
        self._callers: Callers = request.app.state.callers
        self._due_s = _next_check_s()

    async def may_continue(self, tells: bool) -> bool:
        """Return whether the stream may go on; while the database is unavailable, only as long as it `tells` nothing."""
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
        """Seconds until the next check; where the last one could not be made, as long as between two."""
        left_s = self._due_s - time.monotonic()
        return left_s if left_s > 0 else CHECK_S


def _next_check_s() -> float:
    """Return the time of a stream's next check, by the monotonic clock: at one of SLOTS moments of each CHECK_S, so that many streams ask together."""
    slot_s = CHECK_S / SLOTS
    return math.floor((time.monotonic() + CHECK_S) / slot_s) * slot_s
