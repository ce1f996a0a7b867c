"""LDMS records to columns, and cumulative counters to additive rows (docs/contracts/deltas.md).

A `Feed` processes the records of one topic. It decodes them with its plans (one per row schema), finds their instance, computes the deltas of its
samples and adds them to the sums of the `Ledger` that all feeds share. If a plan, schema or instance is unknown, the feed reports it; pass the
record again after adding it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from flitwatch_core._codec import (
    CLASS_COLUMNS,
    ENDPOINT_COLUMNS,
    LANE_ARRAYS,
    LANES,
    OWN_PORT,
    ROUTER_COLUMNS,
    Feed,
    Ledger,
    measure_lists,
)

__all__ = [
    "CLASS_COLUMNS",
    "ENDPOINT_COLUMNS",
    "GAP_REASONS",
    "LANES",
    "LANE_ARRAYS",
    "OWN_PORT",
    "ROUTER_COLUMNS",
    "Code",
    "Feed",
    "Kind",
    "Ledger",
    "Need",
    "Role",
    "Wire",
    "describe_error",
    "measure_lists",
]


class Kind(IntEnum):
    """The type of a column."""

    UNSIGNED = 0
    REAL = 1
    TEXT = 2


class Role(IntEnum):
    """Meaning of a column: a value, a time, a component, or a part of the component."""

    VALUE = 0
    TIME = 1
    COMPONENT = 2
    IDENTITY = 3


class Wire(IntEnum):
    """Avro encoding of a field."""

    LONG = 0
    INT = 1
    FLOAT = 2
    DOUBLE = 3
    STRING = 4
    BYTES = 5
    BOOLEAN = 6
    NULL = 7


class Need(IntEnum):
    """Input that a record waits for."""

    PLAN = 0
    AVRO_SCHEMA = 1
    AVRO_LISTS = 2
    INSTANCE = 3


class Code(IntEnum):
    """Error in a record; `describe_error` describes it."""

    NONE = 0
    TRUNCATED = 1
    SYNTAX = 2
    TRAILING = 3
    BAD_TEXT = 4
    WRONG_TYPE = 5
    TOO_LARGE = 6
    NOT_FINITE = 7
    NULL = 8
    REPEATED_KEY = 9
    NO_TIME = 10
    TIME_RANGE = 11
    BRANCH = 12
    UNKNOWN_KEY = 13
    MISSING_KEY = 14
    LIST_LENGTH = 15
    OTHER_NUMBER = 16
    CONFLICT = 17
    LATE = 18
    FUTURE = 19


#: Values of the column `reason` in table gap, by the number that `Feed.take_gaps` returns.
GAP_REASONS: tuple[Literal["silence", "reset", "restart", "clock_back"], ...] = (
    "silence",
    "reset",
    "restart",
    "clock_back",
)

_WORDS = {
    Code.TRUNCATED: "the record ends too early",
    Code.SYNTAX: "a byte that the format does not allow",
    Code.TRAILING: "bytes follow the end of the record",
    Code.BAD_TEXT: "a text with an invalid escape, a control character or bytes that are not UTF-8",
    Code.WRONG_TYPE: "a value of another type than its column",
    Code.TOO_LARGE: "a number that does not fit 64 bits",
    Code.NOT_FINITE: "NaN or infinity, not a number",
    Code.NULL: "null instead of a value",
    Code.REPEATED_KEY: "a metric that is listed twice",
    Code.NO_TIME: "no timestamp",
    Code.TIME_RANGE: "a timestamp outside 1970 to 2106",
    Code.BRANCH: "an Avro union branch or block that does not exist",
    Code.UNKNOWN_KEY: "a metric that its schema does not name",
    Code.MISSING_KEY: "a metric is missing",
    Code.LIST_LENGTH: "a list of another length",
    Code.OTHER_NUMBER: "a real number instead of an integer",
    Code.CONFLICT: "repeats a timestamp with other values",
    Code.LATE: "late beyond 16 samples",
    Code.FUTURE: "a timestamp far in the future",
}


def describe_error(code: int, metric: str | None = None, byte: int = 0) -> str:
    """Describe the error in a record.

    Parameters
    ----------
    code : int
        A `Code`.
    metric : str, optional
        The metric with the error.
    byte : int
        Position in the record, counted from 0.
    """
    words = _WORDS[Code(code)]
    if code in (Code.CONFLICT, Code.LATE, Code.FUTURE, Code.NO_TIME):
        return words
    at = f"{metric}, byte {byte}" if metric else f"byte {byte}"
    return f"{words} ({at})"
