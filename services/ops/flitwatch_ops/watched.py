"""The heartbeat of this process: what `/livez` and the supervisor use."""

from __future__ import annotations

import contextlib
import functools
import os

from flitwatch_domain.heartbeat import HANGS_AFTER_S, Heartbeat

HANGS_AFTER = "FLITWATCH_HANGS_AFTER"
#: The supervisor's end of a pipe: a byte for each beat.
PULSE_FD = "FLITWATCH_PULSE_FD"


@functools.cache
def own_heartbeat() -> Heartbeat:
    """The one of this process, reported to its supervisor where it has one."""
    number = os.environ.pop(PULSE_FD, "")
    if not number.isdecimal():
        return Heartbeat(HANGS_AFTER_S)
    end = int(number)

    def tell() -> None:
        # A pipe that is full was not emptied, and one without reader has no supervisor: neither is this process' trouble.
        with contextlib.suppress(OSError):
            os.write(end, b".")

    os.set_blocking(end, False)
    os.set_inheritable(end, False)
    return Heartbeat(HANGS_AFTER_S, tell)
