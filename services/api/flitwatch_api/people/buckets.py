"""Token buckets: so many at once, then so many a second."""

from __future__ import annotations

from collections import OrderedDict

#: Keys that are remembered.
MOST_KEPT = 10_000


class Buckets:
    """Token buckets by key; the least used are forgotten, which only ever gives more.

    Parameters
    ----------
    per_s : float      refill
    burst : int        size
    """

    def __init__(self, per_s: float, burst: int) -> None:
        self.per_s, self.burst = per_s, burst
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float, count: int = 1) -> float:
        """Take one (with `count` 0 only look whether there is one, with -1 give one back); 0, or the seconds until there is one again."""
        left, then = self._held.pop(key, (float(self.burst), now))
        left = min(self.burst, left + (now - then) * self.per_s)
        wait = 0.0 if left >= 1 else (1 - left) / self.per_s
        self._held[key] = (left if wait and count > 0 else min(self.burst, left - count), now)
        if len(self._held) > MOST_KEPT:
            self._held.popitem(last=False)
        return wait
