"""Token buckets: this many at once, then this many a second."""

from __future__ import annotations

import secrets
from array import array
from hashlib import blake2b

#: Every key has one bucket in each row, which it shares with others: a key is limited only where all of its buckets are empty.
ROWS, BUCKETS = 4, 8192


class Buckets:
    """Token buckets by key, in a memory of a fixed size that nothing is ever removed from.

    A table of keys would have to forget one to take in another, so a flood of new keys would free the limited ones. Here keys share buckets as in a
    count-min sketch (Cormode and Muthukrishnan 2005): a limited key stays limited. Another key is limited with it only where it shares all of its
    buckets with limited ones. Which keys share is drawn again in each process.

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
        """Take one (with `count` 0 only look whether there is one, with -1 give one back); 0, or the seconds until there is one again."""
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
