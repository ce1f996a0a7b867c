"""Limits on attempts to log in: a guesser must wait, and another person's guesses lock no one out."""

from __future__ import annotations

import math
import time
import unicodedata

from flitwatch_api.people.buckets import Buckets
from flitwatch_domain.errors import TooMany

#: Attempts for one name from one address: so many at once, then one every so many seconds.
PAIR_BURST, PAIR_EVERY_S = 10, 60.0
#: Attempts for one name from everywhere: more, and sooner again, so that one address alone never uses them up.
NAME_BURST, NAME_EVERY_S = 100, 6.0
#: Attempts of one address for all names.
ADDRESS_BURST, ADDRESS_EVERY_S = 30, 6.0
#: Attempts of a browser that the account logged in from before, which the others do not hold up.
KNOWN_BURST, KNOWN_EVERY_S = 10, 6.0


class LoginLimiter:
    """Counts attempts to log in. Those that succeed are given back."""

    def __init__(self) -> None:
        self._pairs = Buckets(1 / PAIR_EVERY_S, PAIR_BURST)
        self._names = Buckets(1 / NAME_EVERY_S, NAME_BURST)
        self._addresses = Buckets(1 / ADDRESS_EVERY_S, ADDRESS_BURST)
        self._known = Buckets(1 / KNOWN_EVERY_S, KNOWN_BURST)

    def _select_buckets(self, name: str, address: str, known: str | None) -> list[tuple[Buckets, str]]:
        if known is not None:
            return [(self._known, known)]
        # A directory takes Ann, ANN and ann for one person: they have one limit. Names hold no line break.
        folded_name = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        return [(self._pairs, f"{folded_name}\n{address}"), (self._names, folded_name), (self._addresses, address)]

    def take(self, name: str, address: str, known: str | None = None) -> None:
        """Count an attempt.

        Parameters
        ----------
        known : str or None
            Stands for the browser or session where the account's owner was there before; then it alone is counted.

        Raises
        ------
        TooMany
            It is not made, and uses up nothing: a refused attempt must not keep others out.
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
        """The attempt was right."""
        now = time.monotonic()
        for buckets, key in self._select_buckets(name, address, known):
            buckets.take(key, now, -1)
