"""Traffic from files: CSV `src,dst,bytes`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.importers.text import read_utf8
from flitwatch_routing.matrices import MOST_BYTES, first_line

_HEADER = ["src", "dst", "bytes"]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def is_traffic_csv(path: Path) -> bool:
    """Return whether a file has the suffix .csv or begins with the header src,dst,bytes."""
    return path.suffix.lower() == ".csv" or [cell.strip() for cell in first_line(path).split(",")] == _HEADER


def read_traffic_csv(path: Path, endpoints: int) -> Pairs:
    """Return (src, dst, bytes), one entry per pair, in order of first appearance, without pairs of 0 bytes.

    Raises
    ------
    BadInput
        The header or number of fields is wrong, an endpoint is outside 0 .. endpoints - 1, or bytes are negative; the message contains file and line.
    """
    total: dict[tuple[int, int], int] = {}
    lines = read_utf8(path).splitlines()
    all_bytes = 0
    rows = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    if not rows or [c.strip() for c in rows[0][1].split(",")] != _HEADER:
        where = f"{path}:{rows[0][0] if rows else 1}"
        raise BadInput("expected the header src,dst,bytes", where=where, advice="Add it as the first line.")
    for number, line in rows[1:]:
        where = f"{path}:{number}"
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 3:
            raise BadInput(f"expected 3 fields, got {len(fields)}", where=where)
        if not all(re.fullmatch(r"-?[0-9]{1,18}", field) for field in fields):
            raise BadInput(f"{line!r} is not three whole numbers", where=where)
        src, dst, size = map(int, fields)
        for end in (src, dst):
            if not 0 <= end < endpoints:
                raise BadInput(f"endpoint {end} is outside 0 to {endpoints - 1}", where=where)
        if size < 0:
            raise BadInput(f"{size} bytes is below 0", where=where)
        total[src, dst] = total.get((src, dst), 0) + size
        all_bytes += size
        if all_bytes > MOST_BYTES:
            raise BadInput("the bytes up to here are more than 2^60", where=where)
    entries = [(s, d, b) for (s, d), b in total.items() if b]
    array = np.array(entries, np.int64).reshape(-1, 3)
    return array[:, 0], array[:, 1], array[:, 2]
