"""The memory that the body of one request takes while it comes and waits."""

from __future__ import annotations

from flitwatch_domain.shares import Shares
from flitwatch_ingest.exporters.limits import MOST_BYTES, Refused


class HeldBody:
    """Counts what has come of a body: a slow one holds no more than that.

    Attributes
    ----------
    bytes : int    taken of `shares`, to be given back
    """

    def __init__(self, shares: Shares, sender: str) -> None:
        self._shares, self._sender, self.bytes = shares, sender, 0

    def add(self, count: int) -> None:
        """Count `count` more bytes received.

        Raises
        ------
        Refused
            The body is too long, or too much of its sender's is held.
        """
        if self.bytes + count > MOST_BYTES:
            raise Refused(413, "too_large", f"the body has more than {MOST_BYTES} bytes")
        if not self._shares.take(self._sender, count):
            raise Refused(503, "busy", "too many bodies are being read: send the request again")
        self.bytes += count
