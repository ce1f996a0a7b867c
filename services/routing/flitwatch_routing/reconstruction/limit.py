"""Limits that end work: a deadline, or a watcher that stops it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from flitwatch_domain.errors import Cancelled

#: watch(phase, iterations, residual, gap) -> go on
Watch = Callable[[str, int, float, float], bool]


@dataclass(frozen=True)
class Limit:
    """until : moment of the clock;  clock : seconds that never fall"""

    until: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Limit:
        """Return the limit `seconds` from now."""
        return cls(clock() + seconds, clock)

    def left(self) -> float:
        """Return seconds; below zero afterwards."""
        return self.until - self.clock()

    def over(self) -> bool:
        """Return whether the deadline has passed."""
        return self.left() < 0

    def part(self, share: float) -> Limit:
        """Return the limit at a share of what is left now."""
        if math.isinf(self.until):
            return self
        now = self.clock()
        return replace(self, until=now + share * max(self.until - now, 0.0))

    def at_most(self, seconds: float) -> Limit:
        """This limit, or this many seconds from now where that is sooner."""
        return replace(self, until=min(self.until, self.clock() + seconds))


@dataclass(frozen=True)
class Follow:
    """One phase of the work: tells the watch where it is, with the residual and gap that were last known."""

    limit: Limit
    watch: Watch | None
    phase: str
    residual: float = 1.0
    gap: float = 1.0

    def may_continue(self, step: int = 0) -> bool:
        """Return whether there is time for another step; raise Cancelled if the watch stops the work."""
        if self.watch is not None and not self.watch(self.phase, step, self.residual, self.gap):
            raise Cancelled("the reconstruction was cancelled")
        return not self.limit.over()
