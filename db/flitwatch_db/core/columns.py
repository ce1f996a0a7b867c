"""Large results as numpy columns: each column is sent as one value, packed by the server, without a Python object per number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql
from psycopg.abc import Params, QueryNoTemplate
from psycopg.rows import dict_row

from flitwatch_db.core import packing

Kind = Literal["i4", "i8", "f8"]
Columns = dict[str, NDArray[Any]]
Connection = psycopg.AsyncConnection[Any]

#: Replacement for NULL in a column of each kind.
UNKNOWN = {"i4": "-1", "i8": "-1", "f8": "'NaN'::float8"}


async def query_rows(
    conn: Connection, query: QueryNoTemplate, parameters: Params | None = None
) -> list[dict[str, Any]]:
    """Return all rows of a query as dictionaries by column."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


async def fetch_columns(conn: Connection, source: sql.Composable, parameters: Any, kinds: dict[str, Kind]) -> Columns:
    """Run a query and return its named columns.

    Parameters
    ----------
    source : Composable
        A SELECT with a result column for each key of `kinds`.
    kinds : dict of {"i4", "i8", "f8"}
        The columns' types; NULL becomes -1 in an integer column and NaN in a float column.

    Returns
    -------
    dict of array[n]
        The order is unspecified, but the same for all columns.
    """
    outputs = [
        sql.SQL("array_send(array_agg(coalesce({}, {})))").format(sql.Identifier(name), sql.SQL(UNKNOWN[kind]))
        for name, kind in kinds.items()
    ]
    query = sql.SQL("SELECT {} FROM ({}) AS source").format(sql.SQL(", ").join(outputs), source)
    row = await (await conn.execute(query, parameters, binary=True)).fetchone()
    assert row is not None
    return {name: packing.unpack_numbers(raw, f">{kind}") for (name, kind), raw in zip(kinds.items(), row, strict=True)}


def packed_arrays(array: sql.Composable) -> sql.Composable:
    """Build an aggregate that sends a `float8[]` expression of every row: (bytes, lengths) for `unpack_arrays`."""
    # array_agg rejects rows of different lengths, and elements with NULL would differ in width.
    query = "string_agg(array_send(coalesce(array_replace({0}, NULL, 'NaN'), '{{}}')), ''::bytea), array_send(array_agg(coalesce(cardinality({0}), 0)))"
    return sql.SQL(query).format(array)


def packed_rates(names: Sequence[str]) -> sql.Composable:
    """Build aggregates that send columns divided by the column `seconds`, one float8 array each; NaN if either is unknown or `seconds` is 0."""
    return sql.SQL(", ").join(
        sql.SQL("array_send(array_agg(coalesce({} / nullif(seconds, 0), 'NaN')))").format(sql.Identifier(name))
        for name in names
    )


def unpack_arrays(sent: bytes | None, lengths: bytes | None) -> NDArray[np.float64]:
    """Decode the result of `packed_arrays`: float64[rows, longest], NaN if unknown."""
    sizes = packing.unpack_numbers(lengths, ">i4").astype(np.int64)
    if sent is None or not len(sizes):
        return np.empty((0, 0))
    widest = int(sizes.max())
    raw = np.frombuffer(sent, dtype=np.uint8)
    if widest and bool((sizes == widest).all()):
        return _decode_elements(raw.reshape(len(sizes), -1), widest)
    values = np.full((len(sizes), widest), np.nan)
    spans = np.where(sizes == 0, 12, 20 + 12 * sizes)
    starts = np.concatenate(([0], np.cumsum(spans)[:-1]))
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == size)
        values[rows, :size] = _decode_elements(raw[starts[rows][:, None] + np.arange(20 + 12 * size)], size)
    return values


def unpack_array(sent: bytes) -> NDArray[np.float64]:
    """Decode one `float8[]` without NULLs from `array_send`."""
    return (
        _decode_elements(np.frombuffer(sent, dtype=np.uint8)[None], (len(sent) - 20) // 12)[0]
        if len(sent) > 20
        else np.empty(0)
    )


def _decode_elements(rows: NDArray[np.uint8], size: int) -> NDArray[np.float64]:
    """Decode arrays of `size` elements, one per row of bytes: a header of 20 bytes, then length (4) and value (8) of each."""
    body = np.ascontiguousarray(rows[:, 20:]).reshape(len(rows), size, 12)
    return np.ascontiguousarray(body[:, :, 4:]).view(">f8").reshape(len(rows), size).astype(np.float64)
