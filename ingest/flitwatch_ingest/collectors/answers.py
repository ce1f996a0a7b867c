"""An answer that came whole and cannot be read."""

from __future__ import annotations

from flitwatch_domain.errors import BadInput


class BadAnswer(BadInput):
    """An answer or dump of a server or switch that cannot be read.

    Attributes
    ----------
    body : bytes
        What it said, for the dead letter.
    """

    def __init__(self, message: str, *, body: bytes, where: str = "", advice: str = "") -> None:
        super().__init__(message, where=where, advice=advice)
        self.body = body
