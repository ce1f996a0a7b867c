"""Token buckets with a burst size and a refill rate per second."""

from __future__ import annotations

import secrets
from array import array
from hashlib import blake2b

#: Each key has one shared bucket per row. It is limited only if all of its buckets are empty.
ROWS, BUCKETS = 4, 8192


class Buckets:
    """Token buckets by key, in memory of a fixed size.

    A table of keys would have to evict keys, so a flood of new keys would free the limited ones. Here keys share buckets as in a count-min sketch
    (Cormode and Muthukrishnan 2005): a limited key stays limited. Another key is limited too only if it shares all of its buckets with limited
    keys. Each process draws the sharing at random.

    Parameters
    ----------
    per_s : float      refill
    burst : int        size
    """

    def __init__(self, per_s: float, burst: int) -> None:
        self.per_s, self.burst = per_s, burst
        self._secret = secrets.token_bytes(16)
        self._left = array("d", [float(burst)]) * (ROWS * BUCKETS)
        self._then = array("d", [0.0]) * (ROWS * BUCKETS)

    def take(self, key: str, now: float, count: int = 1) -> float:
        """Take one token. Return 0, or the seconds until one is available. A `count` of 0 only checks, -1 puts a token back."""
        places = self._bucket_places(key)
        tokens = [min(self.burst, self._left[at] + (now - self._then[at]) * self.per_s) for at in places]
        most = max(tokens)
        wait = 0.0 if most >= 1 else (1 - most) / self.per_s
        used_count = 0 if wait and count > 0 else count
        for at, token_count in zip(places, tokens, strict=True):
            self._left[at], self._then[at] = min(self.burst, max(0.0, token_count - used_count)), now
        return wait

    def _bucket_places(self, key: str) -> list[int]:
        digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=4 * ROWS, key=self._secret).digest()
        drawn = (int.from_bytes(digest[4 * row : 4 * row + 4], "big") for row in range(ROWS))
        return [row * BUCKETS + number % BUCKETS for row, number in enumerate(drawn)]
