"""Avro's binary encoding of many records of one all-integer schema at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def encode_varints(values: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
    """Encode a matrix of longs as zig-zag varints.

    Parameters
    ----------
    values : int64[rows, columns]; unsigned values above 2^63 are their two's complement, as in LDMS.

    Returns
    -------
    encoded, ends : the bytes of all rows in order, and the end of each row in them (int64[rows]).
    """
    rows, columns = values.shape
    flat = values.ravel()
    rest = ((flat << 1) ^ (flat >> 63)).view(np.uint64)
    length = np.ones(len(flat), np.int64)
    bound = np.uint64(1 << 7)
    for size in range(1, 10):
        longer = rest >= bound
        if not longer.any():
            break
        length += longer
        bound = np.uint64(1 << min(7 * (size + 1), 63))
    ends = np.cumsum(length)
    place = ends - length
    encoded = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    index = np.arange(len(flat))
    while len(index):
        more = rest >= np.uint64(128)
        encoded[place] = (rest & np.uint64(127)).astype(np.uint8) | (more.astype(np.uint8) << 7)
        if not more.any():
            break
        index, place, rest = index[more], place[more] + 1, rest[more] >> np.uint64(7)
    return encoded.tobytes(), ends.reshape(rows, columns)[:, -1] if columns else np.zeros(rows, np.int64)


def long_bytes(value: int) -> bytes:
    """Return one zig-zag varint."""
    return encode_varints(np.array([[value]], np.int64))[0]


def string_bytes(text: str) -> bytes:
    """Return an Avro string: its length in bytes, then UTF-8."""
    raw = text.encode()
    return long_bytes(len(raw)) + raw
