"""Read lane counters: virtual lanes, service levels and traffic classes of one port or endpoint."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

from flitwatch_db.core.additive import LANE_ARRAYS
from flitwatch_db.core.columns import Connection
from flitwatch_domain.counters import LANES

Device = Literal["router", "endpoint"]
#: Longer windows are read from the hourly table.
HOURS_FROM_S, HOUR_S = 6 * 3600, 3600


def whole_window(from_s: int, to_s: int) -> tuple[int, int]:
    """Return the window to read for a requested one: whole hours if it is long."""
    if to_s - from_s <= HOURS_FROM_S:
        return from_s, to_s
    return from_s // HOUR_S * HOUR_S, -(-to_s // HOUR_S) * HOUR_S


async def lane_sums(
    conn: Connection, fabric_id: int, device: Device, number: int, port: int, from_s: int, to_s: int
) -> dict[str, NDArray[np.float64]]:
    """Sum by lane over [from, to) for a router's port or an endpoint (port 0): float64[LANES] per array of `LANE_ARRAYS`, NaN if not counted."""
    width = "1h" if to_s - from_s > HOURS_FROM_S else "10s"
    slices = SQL(", ").join(SQL("{}[%(low)s:%(high)s]").format(Identifier(name)) for name in LANE_ARRAYS)
    sums = SQL(", ").join(SQL("sum({})").format(Identifier(f"lane_{name}")) for name in LANE_ARRAYS)
    query = SQL(
        "SELECT place, {sums} FROM {table}, unnest({slices}) WITH ORDINALITY AS lane ({names}, place)"
        " WHERE fabric_id = %(fabric)s AND {device} = %(number)s AND ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s) GROUP BY place"
    ).format(
        sums=sums,
        table=Identifier(f"{device}_lane_{width}"),
        slices=slices,
        names=SQL(", ").join(Identifier(f"lane_{name}") for name in LANE_ARRAYS),
        device=Identifier(device),
    )
    lane_values = {name: np.full(LANES, np.nan) for name in LANE_ARRAYS}
    parameters = {"fabric": fabric_id, "number": number, "from": from_s, "to": to_s}
    rows = await conn.execute(query, {**parameters, "low": port * LANES + 1, "high": (port + 1) * LANES})
    async for place, *values in rows:
        for name, value in zip(LANE_ARRAYS, values, strict=True):
            lane_values[name][place - 1] = np.nan if value is None else value
    return lane_values
