"""Heartbeat of this process, for `/livez` and the supervisor."""

from __future__ import annotations

import contextlib
import functools
import os

from flitwatch_domain.heartbeat import HANGS_AFTER_S, Heartbeat

HANGS_AFTER = "FLITWATCH_HANGS_AFTER"
#: Environment variable with the write end of the supervisor's pipe: one byte per beat.
PULSE_FD = "FLITWATCH_PULSE_FD"


@functools.cache
def own_heartbeat() -> Heartbeat:
    """Return this process's heartbeat, which is also reported to its supervisor if there is one."""
    number = os.environ.pop(PULSE_FD, "")
    if not number.isdecimal():
        return Heartbeat(HANGS_AFTER_S)
    end = int(number)

    def tell() -> None:
        # A full pipe was not read, and a pipe without a reader has no supervisor. Neither is this process's problem.
        with contextlib.suppress(OSError):
            os.write(end, b".")

    os.set_blocking(end, False)
    os.set_inheritable(end, False)
    return Heartbeat(HANGS_AFTER_S, tell)
