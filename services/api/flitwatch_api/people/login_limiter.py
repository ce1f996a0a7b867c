"""Limits on login attempts: a guesser must wait, but cannot lock out other people."""

from __future__ import annotations

import math
import time
import unicodedata

from flitwatch_api.people.buckets import Buckets
from flitwatch_domain.errors import TooMany

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
