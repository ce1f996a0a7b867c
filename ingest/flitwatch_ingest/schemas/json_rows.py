"""The row schema of a JSON record that matches no known schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from flitwatch_core.codec import Kind
from flitwatch_domain.errors import BadInput
from flitwatch_ingest.schemas.rows import MOST_COLUMNS, TIME, Column, RowSchema, row_schema


def json_schema(name: str, record: bytes, known: Mapping[str, Column] | None = None) -> RowSchema:
    """Read a record's metrics and their types.

    Parameters
    ----------
    name : str
        The row schema's name.
    known : mapping, optional
        Columns of the schema's other lists of metrics by name. A metric that was once a real number remains one, even if a record
        contains an integer.

    Raises
    ------
    BadInput
        The record is not a flat JSON object of numbers, texts and lists of these.
    """
    try:
        value = orjson.loads(record)
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"not valid JSON: {problem}") from None
    if not isinstance(value, dict):
        raise BadInput("not a JSON object")
    if len(value) > MOST_COLUMNS:
        raise BadInput(f"the record has {len(value)} metrics, more than {MOST_COLUMNS}")
    columns = [_infer_column(metric, item) for metric, item in value.items()]
    if known:
        columns = [_widen_column(column, known.get(column.name)) for column in columns]
    return row_schema(name, columns)


def _infer_column(metric: str, item: Any) -> Column:
    if not isinstance(item, list):
        return Column(metric, Kind.REAL if metric == TIME else _infer_kind(metric, item))
    if not item:
        raise BadInput(f"{metric} is an empty list")
    kinds = {_infer_kind(metric, entry) for entry in item}
    if kinds == {Kind.UNSIGNED, Kind.REAL}:
        kinds = {Kind.REAL}
    if len(kinds) > 1:
        raise BadInput(f"{metric} is a list of texts and numbers")
    return Column(metric, kinds.pop(), len(item))


def _infer_kind(metric: str, item: Any) -> Kind:
    # bool is an int in Python, not in JSON.
    if isinstance(item, bool) or item is None:
        raise BadInput(f"{metric} is {str(item).lower() if item is not None else 'null'}, expected a number or a text")
    if isinstance(item, int):
        return Kind.UNSIGNED
    if isinstance(item, float):
        return Kind.REAL
    if isinstance(item, str):
        return Kind.TEXT
    raise BadInput(f"{metric} is an object, expected a number, a text or a list of them")


def _widen_column(column: Column, other: Column | None) -> Column:
    if other is not None and other.kind is Kind.REAL and column.kind is Kind.UNSIGNED and other.length == column.length:
        return other
    return column
