"""How much memory the bodies of requests may take while they come and wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from flitwatch_domain.addresses import network
from flitwatch_ingest.exporters.limits import MOST_BYTES, Refused


class HeldBodies:
    """Counts the bytes that are held, of all senders and of each address: a slow body holds no more than has come of it.

    Parameters
    ----------
    most, most_each : int    bytes
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._each: Counter[str] = Counter()

    @contextmanager
    def of(self, request: Request) -> Iterator[HeldBody]:
        """The body of a request, until it is dealt with."""
        body = HeldBody(self, network(request.client.host) if request.client else "local")
        try:
            yield body
        finally:
            self._each[body.sender] -= body.bytes
            if not self._each[body.sender]:
                del self._each[body.sender]

    def add(self, sender: str, count: int) -> None:
        """Hold more of a sender's; Refused."""
        if self._each.total() + count > self._most or self._each[sender] + count > self._most_each:
            raise Refused(503, "busy", "too many bodies are being read: send the request again")
        self._each[sender] += count


class HeldBody:
    """What has come of one body, in bytes."""

    def __init__(self, held: HeldBodies, sender: str) -> None:
        self._held, self.sender, self.bytes = held, sender, 0

    def add(self, count: int) -> None:
        """So many more bytes came.

        Raises
        ------
        Refused
            The body is too long, or too much is held.
        """
        if self.bytes + count > MOST_BYTES:
            raise Refused(413, "too_large", f"the body has more than {MOST_BYTES} bytes")
        self._held.add(self.sender, count)
        self.bytes += count
