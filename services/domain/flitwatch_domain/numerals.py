"""Numbers in external text, restricted to ASCII digits.

`int` and `float` also accept forms that devices and schedulers never write: `1_000`, digits of other scripts, surrounding blanks and line ends, `nan`
and `infinity`. Such a cell is damaged, and would become a number that was never counted.
"""

from __future__ import annotations

import math
import re

#: Digits of a 64-bit integer with a sign; more would cost time and fit no column.
_WHOLE = re.compile(r"[-+]?[0-9]{1,20}")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_REAL = re.compile(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,4})?")

_NOT_FINITE = frozenset({"nan", "inf", "infinity"})


def parse_whole(text: str, least: int = 0, most: int = (1 << 64) - 1) -> int | None:
    """Parse an integer from `least` to `most`; None for any other text."""
    if _WHOLE.fullmatch(text) is None:
        return None
    number = int(text)
    return number if least <= number <= most else None


def whole_or_hexadecimal(text: str, most: int = (1 << 64) - 1) -> int | None:
    """Parse an integer from 0 to `most`, in decimal or hexadecimal digits after 0x; None for any other text."""
    if _HEXADECIMAL.fullmatch(text) is None:
        return parse_whole(text, 0, most)
    number = int(text, 16)
    return number if number <= most else None


def is_infinite_or_nan(text: str) -> bool:
    """Return whether `float` parses a text as non-finite, because it is such a word or a number beyond the range."""
    text = text.strip()
    if _REAL.fullmatch(text) is not None:
        return math.isinf(float(text))
    return text.lstrip("+-").lower() in _NOT_FINITE


def parse_real(text: str) -> float | None:
    """Parse a finite number; None for any other text."""
    if _REAL.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None
