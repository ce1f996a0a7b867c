"""Answers: numpy columns to JSON without a Python object per number, and entity tags."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
from fastapi import Request
from fastapi.responses import Response
from numpy.typing import NDArray

JSON = "application/json"


def _other(value: Any) -> Any:
    # orjson takes contiguous arrays of native numbers; text and object arrays and strided views come here.
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "OU" else np.ascontiguousarray(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError


def dump(content: Any) -> bytes:
    """JSON of plain values, datetimes (UTC, RFC 3339) and numpy arrays; NaN and infinity become null."""
    return orjson.dumps(
        content, default=_other, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
    )


def answer(content: Any, cache_control: str = "no-cache") -> Response:
    """A JSON answer."""
    return Response(dump(content), media_type=JSON, headers={"Cache-Control": cache_control})


def tagged(request: Request, body: bytes) -> Response:
    """A JSON answer with an entity tag; 304 without a body where the caller has it already."""
    tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    held = request.headers.get("if-none-match", "")
    if held.strip() == "*" or tag.removeprefix("W/") in {part.strip().removeprefix("W/") for part in held.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=JSON, headers=headers)


def unknown_as_null(values: NDArray[np.integer[Any]]) -> list[int | None]:
    """Integers with -1 for unknown, as JSON has them."""
    return [None if value < 0 else value for value in values.tolist()]


def ratio(stall_cycles: Any, flits: Any) -> NDArray[np.float32]:
    """Stall cycles per flit: NaN where either is unknown or there was no flit; seven digits are enough for a ratio."""
    flits = np.asarray(flits, dtype=np.float64)
    out = np.full(flits.shape, np.nan)
    np.divide(stall_cycles, flits, out=out, where=flits > 0)
    return out.astype(np.float32)


def number(value: float) -> float | None:
    """A float as JSON has it."""
    return None if not np.isfinite(value) else float(value)


def moment(epoch_s: float | None) -> datetime | None:
    """A time from epoch seconds."""
    return None if epoch_s is None else datetime.fromtimestamp(epoch_s, UTC)


def moments(epoch_s: NDArray[np.int64]) -> list[str]:
    """RFC 3339 times of whole seconds."""
    return [f"{text}Z" for text in np.datetime_as_string(epoch_s.astype("datetime64[s]")).tolist()]
