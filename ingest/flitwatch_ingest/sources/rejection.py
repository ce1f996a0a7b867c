"""Rejected input with its place, reason and bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """One piece of input that could not be decoded.

    Attributes
    ----------
    where : str
        File and line, or file and offset.
    raw : bytes
        The input itself, for the dead-letter table.
    """

    where: str
    reason: str
    raw: bytes = b""
