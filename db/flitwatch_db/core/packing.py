"""Numpy columns packed into PostgreSQL's binary COPY format, without a Python object per value.

Every column becomes a block of bytes with one row per record, all of equal width, and a mask of the used bytes. (A NULL, or a
shorter text, has fewer.) Placed side by side and reduced by the mask, the blocks form the COPY stream.

Format: PostgreSQL documentation, COPY, "Binary Format"; arrays: src/backend/utils/adt/arrayfuncs.c, `array_recv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
INT4_OID = 23
FLOAT8_OID = 701
#: 2000-01-01 in seconds since 1970: PostgreSQL's epoch.
PG_EPOCH_S = 946_684_800


class Block(NamedTuple):
    """A packed column: `bytes` uint8[n, width]; `used` bool[n, width], or None if all are used."""

    bytes: NDArray[np.uint8]
    used: NDArray[np.bool_] | None


def _pack_scalars(values: NDArray[np.generic], width: int, null: NDArray[np.bool_] | None) -> Block:
    n = len(values)
    block = np.empty(n, dtype=[("length", ">i4"), ("value", f"V{width}")])
    block["length"] = width
    block["value"] = values.view(f"V{width}")
    used = None
    if null is not None and null.any():
        block["length"][null] = -1
        used = np.ones((n, 4 + width), dtype=bool)
        used[null, 4:] = False
    return Block(block.view(np.uint8).reshape(n, 4 + width), used)


def pack_int4(values: ArrayLike, null: NDArray[np.bool_] | None = None) -> Block:
    """Pack integers[n] as `int`."""
    return _pack_scalars(np.ascontiguousarray(values, dtype=">i4"), 4, null)


def pack_int8(values: ArrayLike, null: NDArray[np.bool_] | None = None) -> Block:
    """Pack integers[n] as `bigint`."""
    return _pack_scalars(np.ascontiguousarray(values, dtype=">i8"), 8, null)


def pack_float8(values: ArrayLike) -> Block:
    """Pack floats[n] as type float8; NaN is NULL."""
    packed = np.ascontiguousarray(values, dtype=">f8")
    return _pack_scalars(packed, 8, np.isnan(packed))


def pack_timestamptz(epoch_s: NDArray[np.int64]) -> Block:
    """Pack integer seconds since 1970, int64[n], as type timestamptz."""
    return pack_int8((np.asarray(epoch_s, dtype=np.int64) - PG_EPOCH_S) * 1_000_000)


def pack_float8_columns(values: NDArray[np.float64]) -> Block:
    """Pack floats[n, c] as c neighbouring columns of type float8; NaN is NULL."""
    n, c = values.shape
    block = np.empty((n, c), dtype=[("length", ">i4"), ("value", ">f8")])
    block["length"] = 8
    block["value"] = values
    null = np.isnan(values)
    used = None
    if null.any():
        block["length"][null] = -1
        mask = np.ones((n, c, 12), dtype=bool)
        mask[null, 4:] = False
        used = mask.reshape(n, c * 12)
    return Block(block.view(np.uint8).reshape(n, c * 12), used)


def float8_array(values: NDArray[np.float64] | None, rows: int) -> Block:
    """Pack floats[n, p] as one `float8[]` column of p elements; a NaN element is NULL; None packs NULL in every row."""
    if values is None:
        return Block(np.full((rows, 4), 0xFF, dtype=np.uint8), None)
    n, p = values.shape
    elements = pack_float8_columns(values)
    present = p - np.isnan(values).sum(axis=1)
    head = np.empty((n, 6), dtype=">i4")
    head[:, 0] = 20 + 4 * p + 8 * present
    head[:, 1] = 1
    head[:, 2] = present < p
    head[:, 3] = FLOAT8_OID
    head[:, 4] = p
    head[:, 5] = 1
    used = None if elements.used is None else np.concatenate([np.ones((n, 24), dtype=bool), elements.used], axis=1)
    return Block(np.concatenate([head.view(np.uint8).reshape(n, 24), elements.bytes], axis=1), used)


def int4_array(values: NDArray[np.int32] | None, rows: int) -> Block:
    """Pack integers[n, p] as one `int[]` column of p elements; None packs NULL in every row."""
    if values is None:
        return Block(np.full((rows, 4), 0xFF, dtype=np.uint8), None)
    n, p = values.shape
    head = np.broadcast_to(np.array([20 + 8 * p, 1, 0, INT4_OID, p, 1], dtype=">i4").view(np.uint8), (n, 24))
    elements = pack_int4(values.ravel()).bytes.reshape(n, 8 * p)
    return Block(np.concatenate([head, elements], axis=1), None)


def unpack_numbers(sent: bytes | None, dtype: str) -> NDArray[np.generic]:
    """Decode an array of numbers without NULLs from `array_send`; None (no rows were aggregated) is empty.

    Parameters
    ----------
    dtype : str
        The elements' type, big-endian: ">i4", ">i8" or ">f8".
    """
    native = np.dtype(dtype).newbyteorder("=")
    if sent is None:
        return np.empty(0, dtype=native)
    pairs = np.frombuffer(sent, dtype=[("length", ">i4"), ("value", dtype)], offset=20)
    return pairs["value"].astype(native)


def pack_text(values: Sequence[str | None] | NDArray[np.object_]) -> Block:
    """Pack strings as type text; None is NULL."""
    raw = [b"" if v is None else v.encode() for v in values]
    n = len(raw)
    lengths = np.fromiter((len(r) for r in raw), dtype=np.int64, count=n)
    width = int(lengths.max(initial=0))
    block = np.zeros((n, 4 + width), dtype=np.uint8)
    stored = lengths.astype(">i4")
    stored[[i for i, v in enumerate(values) if v is None]] = -1
    block[:, :4] = stored.view(np.uint8).reshape(n, 4)
    if width:
        block[:, 4:] = np.frombuffer(b"".join(r.ljust(width, b"\0") for r in raw), dtype=np.uint8).reshape(n, width)
    used = np.arange(4 + width) < (4 + lengths)[:, None]
    return Block(block, used)


def pack_rows(*blocks: Block, columns: int) -> bytes:
    """Join packed columns to a whole COPY stream.

    Parameters
    ----------
    *blocks : Block
        Blocks of the same number of rows, in the order of the table's columns.
    columns : int
        Total number of columns (`pack_float8_columns` makes several).
    """
    n = len(blocks[0].bytes)
    count = np.broadcast_to(np.array([columns], dtype=">i2").view(np.uint8), (n, 2))
    everything = np.concatenate([count, *(b.bytes for b in blocks)], axis=1)
    if all(b.used is None for b in blocks):
        body = everything.tobytes()
    else:
        whole = [np.ones((n, 2), dtype=bool)]
        whole += [np.ones(b.bytes.shape, dtype=bool) if b.used is None else b.used for b in blocks]
        body = everything[np.concatenate(whole, axis=1)].tobytes()
    return HEADER + body + TRAILER
