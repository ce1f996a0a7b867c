"""Parameters shared by several routes: times, windows, cursors."""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
from fastapi import Path, Query
from pydantic import BeforeValidator, WithJsonSchema

from flitwatch_domain.errors import BadRequest

#: Latest possible time of a bucket (docs/contracts/tables.md).
LATEST_S = 1 << 32
MAX_WINDOW_S = 366 * 86_400
MAX_ID = 2**63 - 1

_SECONDS = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?")
_LOST_PLUS = re.compile(r"(T[0-9][0-9]:[0-9][0-9].*) ([0-9][0-9]:?[0-9][0-9])")
_WINDOW = re.compile(r"([0-9]{1,9})(s|m|h|d)?")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def read_time(value: object) -> float:
    """Return epoch seconds from an RFC 3339 time or epoch seconds. Raise ValueError for other text."""
    text = str(value).strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        # An unescaped "+" of a time zone arrives as a blank.
        try:
            time = datetime.fromisoformat(_LOST_PLUS.sub(r"\1+\2", text))
        except ValueError:
            raise ValueError("write a time as 2026-11-21T14:05:00Z or as epoch seconds") from None
        if time.tzinfo is None:
            raise ValueError("the time has no zone: add Z or an offset such as +01:00")
        seconds = time.timestamp()
    if not 0 <= seconds < LATEST_S:
        raise ValueError("the time must be between 1970 and 2106")
    return seconds


def read_window(value: object) -> int:
    """Return seconds from `60s`, `5m`, `1h`, `1d` or a number of seconds. Raise ValueError for other text."""
    match = _WINDOW.fullmatch(str(value).strip())
    if match is None:
        raise ValueError("write a window as 60s, 5m, 1h or 1d")
    seconds = int(match.group(1)) * _UNITS[match.group(2) or "s"]
    if not 1 <= seconds <= MAX_WINDOW_S:
        raise ValueError("the window must be between 1 s and 366 d")
    return seconds


_TIME_SCHEMA = {
    "type": "string",
    "description": "RFC 3339 or epoch seconds",
    "examples": ["2026-11-21T14:05:00Z", "1795269900"],
}
Time = Annotated[float, BeforeValidator(read_time), WithJsonSchema(_TIME_SCHEMA)]
Window = Annotated[
    int,
    BeforeValidator(read_window),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,9}[smhd]?$", "examples": ["60s", "5m"]}),
]

JobId = Annotated[
    str, Path(min_length=1, max_length=60, description="As the scheduler prints it: 42, 3_4, 10+1, 13.server.")
]
Cluster = Annotated[
    str | None, Query(max_length=200, description="The job's cluster (default: the newest job with this id).")
]
Limit = Annotated[int, Query(ge=1, le=1000, description="Largest number of items in the answer.")]
CursorText = Annotated[str | None, Query(max_length=1000, description="`next_cursor` of the previous page.")]
Text = Annotated[str | None, Query(max_length=200)]
Id = Annotated[int, Path(ge=0, le=MAX_ID)]
FabricId = Annotated[str, Path(min_length=1, max_length=200, description="Number or name of the fabric.")]


def make_cursor(*values: Any) -> str:
    """Return an opaque cursor of a row's key."""
    return base64.urlsafe_b64encode(orjson.dumps(values)).decode().rstrip("=")


def read_cursor(text: str, *types: type) -> tuple[Any, ...]:
    """Return the key that was passed to `make_cursor`. Raise BadRequest if the text is not a cursor of this list."""
    try:
        values = orjson.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        values = None
    if not (isinstance(values, list) and len(values) == len(types) and all(map(_fits_type, values, types))):
        raise BadRequest("the cursor does not belong to this list", advice="Start again without a cursor.")
    return tuple(values)


def _fits_type(value: Any, kind: type) -> bool:
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    if isinstance(value, int):
        return abs(value) <= MAX_ID
    return not isinstance(value, float) or math.isfinite(value)


def read_page_cursor(text: str | None) -> int | None:
    """Return the number below which a page begins, for lists in descending order."""
    return None if not text else int(read_cursor(text, int)[0])


def at_moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
