"""Units and numbers in files, in bits, bytes and seconds."""

from __future__ import annotations

import math
import re

from flitwatch_domain.errors import BadInput

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


#: Epoch seconds of 2000 and 2100: a time outside is treated as an error.
EARLIEST_S, LATEST_S = 946684800, 4102444800

#: Gb/s of one lane by InfiniBand speed name, as abbreviated by ibnetdiscover: data rate after coding.
INFINIBAND_LANE_GBPS: dict[str, float] = {
    "SDR": 2.0,
    "DDR": 4.0,
    "QDR": 8.0,
    "FDR10": 10.0,
    "FDR": 13.64,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}


def _find_lane_widths() -> dict[float, int]:
    widths_by_speed: dict[float, set[int]] = {}
    for speed in ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR"):
        for width in (1, 2, 4, 12):
            widths_by_speed.setdefault(round(width * INFINIBAND_LANE_GBPS[speed] * 1e9), set()).add(width)
    return {speed: min(widths) for speed, widths in widths_by_speed.items() if len(widths) == 1}


#: Lanes of a cable up to EDR by its bits per second, if only one width has that speed.
INFINIBAND_WIDTHS = _find_lane_widths()
_WIDTH_SPEED = re.compile(r"([0-9]{1,4})x([A-Z]+[0-9]*)")


def infiniband_bandwidth_bps(text: str) -> float:
    """Convert a width and speed such as `4xHDR` or `2xEDR` to bits per second; BadInput for an unknown one."""
    match = _WIDTH_SPEED.fullmatch(text)
    if match is None or match.group(2) not in INFINIBAND_LANE_GBPS or int(match.group(1)) not in (1, 2, 4, 8, 12):
        raise BadInput(f"{text!r} is not an InfiniBand width and speed", advice="Expected one like 4xHDR.")
    return int(match.group(1)) * INFINIBAND_LANE_GBPS[match.group(2)] * 1e9
