"""Limits of work: a deadline, or a watcher that stops it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from flitwatch_domain.errors import Cancelled

#: watch(phase, iterations, residual, gap) -> whether to continue
Watch = Callable[[str, int, float, float], bool]


@dataclass(frozen=True)
class Limit:
    """until : time on the clock;  clock : monotonic clock in seconds"""

    until: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Limit:
        """Return the limit `seconds` from now."""
        return cls(clock() + seconds, clock)

    def left(self) -> float:
        """Return the remaining seconds; negative after the deadline."""
        return self.until - self.clock()

    def over(self) -> bool:
        """Return whether the deadline has passed."""
        return self.left() < 0

    def part(self, share: float) -> Limit:
        """Return the limit at a share of the remaining time."""
        if math.isinf(self.until):
            return self
        now = self.clock()
        return replace(self, until=now + share * max(self.until - now, 0.0))

    def at_most(self, seconds: float) -> Limit:
        """Return this limit or the limit `seconds` from now, whichever is earlier."""
        return replace(self, until=min(self.until, self.clock() + seconds))


@dataclass(frozen=True)
class Follow:
    """One phase of the work; it reports progress to the watch, with the last known residual and gap."""

    limit: Limit
    watch: Watch | None
    phase: str
    residual: float = 1.0
    gap: float = 1.0

    def may_continue(self, step: int = 0) -> bool:
        """Return whether there is time for another step; raise Cancelled if the watch stops it."""
        if self.watch is not None and not self.watch(self.phase, step, self.residual, self.gap):
            raise Cancelled("the reconstruction was cancelled")
        return not self.limit.over()
