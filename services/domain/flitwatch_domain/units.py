"""Units in files, in bits, bytes and seconds."""

from __future__ import annotations

import re

from flitwatch_domain.errors import BadInput

GIB = 2**30
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
