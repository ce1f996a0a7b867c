"""Plain data from outside: whether it comes back from the database as it went in."""

from __future__ import annotations

import math
from typing import Any

from flitwatch_domain.errors import BadInput

#: Whole numbers from here on are not those of 64 bits.
BEYOND = 2**63


def check_numbers(value: Any, where: str = "") -> None:
    """Refuse numbers that JSON or its readers do not hold.

    A column of type jsonb keeps 1e308 as a whole number of 309 digits, which readers that have integers of 64 bits refuse.

    Parameters
    ----------
    value : dict, list, str, number, bool or None
    where : str
        What the value is, for the message.

    Raises
    ------
    BadInput
        A number is not finite, or is beyond 64 bits.
    """
    # No recursion: how deep it is was chosen outside.
    pending = [(where, value)]
    while pending:
        place, item = pending.pop()
        if isinstance(item, dict):
            pending.extend((f"{place}.{name}" if place else str(name), inner) for name, inner in item.items())
        elif isinstance(item, list | tuple):
            pending.extend((f"{place}[{number}]", inner) for number, inner in enumerate(item))
        elif isinstance(item, float) and not math.isfinite(item):
            raise BadInput("the number is not finite", where=place[:200], advice="JSON has no NaN and no infinity.")
        elif isinstance(item, int | float) and not -BEYOND <= item < BEYOND:
            raise BadInput("the number is beyond 64 bits", where=place[:200], advice="Keep numbers within 9.2e18.")
