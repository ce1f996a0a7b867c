"""Heartbeat of a process: the time of its main loop's last progress, to distinguish a hung process from a working or waiting one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: Longer than any iteration of a loop: connecting takes 10 s per address, a cut connection is noticed after 20 s, a receiver's answer takes up to 10 s.
HANGS_AFTER_S = 300.0
#: Interval between the heartbeats of a waiting loop.
WAIT_S = 1.0


class Heartbeat:
    """Heartbeat of a loop, updated in each iteration and while it waits.

    Parameters
    ----------
    hangs_after_s : float    time without a heartbeat after which the loop counts as hung
    on_beat : function       called at each beat, from the loop's own thread
    """

    def __init__(self, hangs_after_s: float = HANGS_AFTER_S, on_beat: Callable[[], object] | None = None) -> None:
        self.hangs_after_s = hangs_after_s
        self._on_beat = on_beat
        self._at: float | None = None

    def beat(self) -> None:
        """Record progress of the loop."""
        self._at = time.monotonic()
        if self._on_beat is not None:
            self._on_beat()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Run `stop.wait(seconds)` with heartbeats."""
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
        """Return seconds since the last beat; None before the first, while the process starts or waits for a database."""
        return None if self._at is None else time.monotonic() - self._at

    @property
    def is_hung(self) -> bool:
        """Return whether the last beat was too long ago."""
        silent_s = self.silent_s
        return silent_s is not None and silent_s > self.hangs_after_s
