"""Numbers in text from outside, in ASCII digits alone.

`int` and `float` also take what no device and no scheduler writes: `1_000`, digits of other scripts, blanks and line ends around a number, `nan`
and `infinity`. A cell like that is damage, and would become a number that no one counted.
"""

from __future__ import annotations

import math
import re

#: As many digits as 64 bits and a sign need; more would cost time and fit no column.
_WHOLE = re.compile(r"[-+]?[0-9]{1,20}")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_REAL = re.compile(r"[-+]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][-+]?[0-9]{1,4})?")

_NOT_FINITE = frozenset({"nan", "inf", "infinity"})


def parse_whole(text: str, least: int = 0, most: int = (1 << 64) - 1) -> int | None:
    """The integer that a text is, from `least` to `most`; None if it is none, or lies outside of them."""
    if _WHOLE.fullmatch(text) is None:
        return None
    number = int(text)
    return number if least <= number <= most else None


def whole_or_hexadecimal(text: str, most: int = (1 << 64) - 1) -> int | None:
    """The same from 0, also of hexadecimal digits behind 0x."""
    if _HEXADECIMAL.fullmatch(text) is None:
        return parse_whole(text, 0, most)
    number = int(text, 16)
    return number if number <= most else None


def is_infinite_or_nan(text: str) -> bool:
    """Return whether a text is a word that `float` reads as a non-finite number, or a number beyond its range."""
    text = text.strip()
    if _REAL.fullmatch(text) is not None:
        return math.isinf(float(text))
    return text.lstrip("+-").lower() in _NOT_FINITE


def parse_real(text: str) -> float | None:
    """The finite number that a text is; None if it is none."""
    if _REAL.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None
