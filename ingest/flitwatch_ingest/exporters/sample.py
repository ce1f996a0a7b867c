"""One value of one series, from any sender."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """A counter's value at a time.

    Attributes
    ----------
    name : str                      the metric's name
    labels : tuple of (str, str)    sorted, without the name
    value : float, int or str     a text only if a table keeps raw values
    time_ms : int                   Unix time
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float | str
    time_ms: int
