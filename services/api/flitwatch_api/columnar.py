"""Responses as Arrow or Parquet, if the request's `Accept` header asks for them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import numpy as np
from fastapi import Request
from fastapi.responses import Response
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
#: OpenAPI description of these responses.
CONTENT: dict[str, Any] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (ARROW, PARQUET)}


def choose_format(request: Request) -> str | None:
    """Return the columnar format that the caller accepts; None if there is none or JSON has a higher weight (`q`, RFC 9110)."""
    weights: dict[str, float] = {}
    for part in request.headers.get("accept", "").split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        weights[kind] = next((_parse_weight(word[2:]) for word in parameters if word.startswith("q=")), 1.0)
    json = weights.get("application/json", 0.0)
    # The first of the highest weight. A format with the same weight as JSON was named on purpose.
    best = max((kind for kind in weights if kind in CONTENT), key=weights.__getitem__, default=None)
    return best if best is not None and weights[best] > 0 and weights[best] >= json else None


def _parse_weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


async def send_columns(
    kind: str,
    ts: NDArray[np.int64],
    routers: NDArray[np.int64] | None,
    values: Mapping[str, NDArray[Any]],
    about: Mapping[str, str],
) -> Response:
    """Send one row per step and router.

    Parameters
    ----------
    kind : str
        ARROW or PARQUET.
    ts : int64[T]
        Start of each step, epoch seconds.
    routers : int64[R], or None
        None if the rows are sums over routers.
    values : mapping of names to arrays [T][R]
        NaN is unknown, and becomes null.
    about : mapping of str to str
        The schema's metadata.
    """
    body = await anyio.to_thread.run_sync(_encode_table, kind, ts, routers, values, about)
    return Response(body, media_type=kind, headers={"Cache-Control": "no-cache", "Vary": "Accept"})


def _encode_table(
    kind: str,
    ts: NDArray[np.int64],
    routers: NDArray[np.int64] | None,
    values: Mapping[str, NDArray[Any]],
    about: Mapping[str, str],
) -> bytes:
    import pyarrow as pa

    out = io.BytesIO()
    table = _build_table(ts, routers, values).replace_schema_metadata(dict(about))
    if kind == PARQUET:
        import pyarrow.parquet as parquet

        parquet.write_table(table, out, compression="zstd")
    else:
        with pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    return out.getvalue()


def _build_table(
    ts: NDArray[np.int64], routers: NDArray[np.int64] | None, values: Mapping[str, NDArray[Any]]
) -> pa.Table:
    import pyarrow as pa

    width = 1 if routers is None else len(routers)
    columns: dict[str, pa.Array] = {
        "ts": pa.array(
            np.repeat(ts, width).astype("datetime64[s]").astype("datetime64[ms]"), pa.timestamp("ms", tz="UTC")
        )
    }
    if routers is not None:
        columns["router"] = pa.array(np.tile(routers.astype(np.int32), len(ts)))
    for name, figures in values.items():
        # pyarrow converts NaN to null only with pandas semantics.
        columns[name] = pa.array(np.ascontiguousarray(figures).ravel(), from_pandas=True)
    return pa.table(columns)
