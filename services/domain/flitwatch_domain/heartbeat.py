"""Heartbeat of a process: the time at which its main loop last made progress, to tell a hung process from one that works or waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: Longer than any round of a loop: connecting takes 10 s for each address, a cut connection is noticed after 20 s, a receiver's answer after 10 s.
HANGS_AFTER_S = 300.0
#: How often a loop that waits says that it does.
WAIT_S = 1.0


class Heartbeat:
    """Touched by a loop each time it comes round, and while it waits.

    Parameters
    ----------
    hangs_after_s : float    silence after which the loop counts as hanging
    on_beat : function       called at each beat, from the loop's own thread
    """

    def __init__(self, hangs_after_s: float = HANGS_AFTER_S, on_beat: Callable[[], object] | None = None) -> None:
        self.hangs_after_s = hangs_after_s
        self._on_beat = on_beat
        self._at: float | None = None

    def beat(self) -> None:
        """The loop has made progress."""
        self._at = time.monotonic()
        if self._on_beat is not None:
            self._on_beat()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """`stop.wait(seconds)`, beating meanwhile."""
        until = time.monotonic() + seconds
        while True:
            self.beat()
            remaining_s = until - time.monotonic()
            if stop.wait(max(0.0, min(remaining_s, WAIT_S))):
                return True
            if remaining_s <= WAIT_S:
                return False

    @property
    def silent_s(self) -> float | None:
        """Seconds since the last beat; None before the first: the process begins, and may wait for a database."""
        return None if self._at is None else time.monotonic() - self._at

    @property
    def is_hung(self) -> bool:
        """Return whether the loop has been silent for too long."""
        silent_s = self.silent_s
        return silent_s is not None and silent_s > self.hangs_after_s
