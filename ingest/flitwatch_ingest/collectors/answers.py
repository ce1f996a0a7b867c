"""A complete answer that cannot be read."""

from __future__ import annotations

from flitwatch_domain.errors import BadInput


class BadAnswer(BadInput):
    """An answer or dump of a server or switch that cannot be read.

    Attributes
    ----------
    body : bytes
        The answer itself, for the dead letter.
    """

    def __init__(self, message: str, *, body: bytes, where: str = "", advice: str = "") -> None:
        super().__init__(message, where=where, advice=advice)
        self.body = body
