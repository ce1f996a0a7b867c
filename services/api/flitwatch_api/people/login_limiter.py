"""Limits on requests and on login attempts: a guesser must wait, but cannot lock out other people."""

from __future__ import annotations

import math
import secrets
import time
import unicodedata
from array import array
from hashlib import blake2b

from fastapi import Request
from fastapi.responses import Response

from flitwatch_domain.errors import TooMany
from flitwatch_domain.shares import to_network

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


LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def address_of(request: Request) -> str:
    """Return the address that a request came from.

    By default, this is the connection's address. From a trusted proxy (`api_trusted_proxies`), it is the right-most entry of X-Forwarded-For that
    is not a trusted proxy, or the first if all are. It is not an address if the proxy writes other text.
    """
    return request.client.host if request.client else "local"


def network_of(request: Request) -> str:
    """Return the key for request counts by address: an IPv6 address is reduced to its /64, which belongs to one host."""
    return to_network(address_of(request))


def _is_local(request: Request) -> bool:
    return (request.url.hostname or "") in LOOPBACK


def cookie_of(request: Request, kind: str = "session") -> str:
    """Return the cookie's name. `__Host-` binds it to this host and to TLS; loopback has neither."""
    return f"flitwatch-{kind}" if _is_local(request) else f"__Host-flitwatch-{kind}"


def base_of(request: Request, configured: str) -> str:
    """Return the page's public address: the configured one, or that of this request, with TLS except on loopback."""
    return configured.rstrip("/") or f"{'http' if _is_local(request) else 'https'}://{request.url.netloc}"


def set_cookie(request: Request, answer: Response, secret: str, max_age_s: int, kind: str = "session") -> None:
    """Set a browser's cookie to a secret; an empty secret deletes it."""
    answer.set_cookie(
        cookie_of(request, kind),
        secret,
        max_age=max_age_s if secret else 0,
        path="/",
        httponly=True,
        samesite="lax",
        secure=not _is_local(request),
    )


#: Attempts for one name from one address: burst, then seconds per attempt.
PAIR_BURST, PAIR_EVERY_S = 10, 60.0
#: Attempts for one name from all addresses: a higher limit, so that a single address never uses it up.
NAME_BURST, NAME_EVERY_S = 100, 6.0
#: Attempts of one address for all names.
ADDRESS_BURST, ADDRESS_EVERY_S = 30, 6.0
#: Attempts of a browser that the account logged in from before. Other attempts do not delay them.
KNOWN_BURST, KNOWN_EVERY_S = 10, 6.0


class LoginLimiter:
    """Counts login attempts. Successful ones are given back."""

    def __init__(self) -> None:
        self._pairs = Buckets(1 / PAIR_EVERY_S, PAIR_BURST)
        self._names = Buckets(1 / NAME_EVERY_S, NAME_BURST)
        self._addresses = Buckets(1 / ADDRESS_EVERY_S, ADDRESS_BURST)
        self._known = Buckets(1 / KNOWN_EVERY_S, KNOWN_BURST)

    def _select_buckets(self, name: str, address: str, known: str | None) -> list[tuple[Buckets, str]]:
        if known is not None:
            return [(self._known, known)]
        # A directory treats Ann, ANN and ann as one person, so they share a limit. Names contain no line breaks.
        folded_name = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        return [(self._pairs, f"{folded_name}\n{address}"), (self._names, folded_name), (self._addresses, address)]

    def take(self, name: str, address: str, known: str | None = None) -> None:
        """Count an attempt.

        Parameters
        ----------
        known : str or None
            Key of a browser or session that the account's owner used before. If given, only this key is counted.

        Raises
        ------
        TooMany
            The attempt is refused and not counted: refused attempts must not lock others out.
        """
        now, counted = time.monotonic(), self._select_buckets(name, address, known)
        wait = max(buckets.take(key, now, 0) for buckets, key in counted)
        if wait:
            raise TooMany(
                "too many attempts to log in", advice="Wait and try again.", retry_after_s=max(1, math.ceil(wait))
            )
        for buckets, key in counted:
            buckets.take(key, now)

    def give_back(self, name: str, address: str, known: str | None = None) -> None:
        """Give back a successful attempt."""
        now = time.monotonic()
        for buckets, key in self._select_buckets(name, address, known):
            buckets.take(key, now, -1)
