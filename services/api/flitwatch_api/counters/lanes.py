"""Counters of one port or endpoint by lane: virtual lanes, service levels, traffic classes."""

from __future__ import annotations

import numpy as np

from flitwatch_api.answers import build_model, utc_time
from flitwatch_api.counters import schemas
from flitwatch_api.counters.stalls import WindowQuery
from flitwatch_db.core.additive import LANE_ARRAYS
from flitwatch_db.core.columns import Connection
from flitwatch_db.counters import store
from flitwatch_domain.counters import LANES
from flitwatch_domain.errors import BadRequest


async def lane_figures(
    conn: Connection, asked: WindowQuery, router: int | None, port: int | None, endpoint: int | None
) -> schemas.LaneFigures:
    """Return the response of `/lanes`. Raise BadRequest unless the query names one port or one endpoint of the fabric."""
    head, fabric, window = asked.topology.head, asked.topology.fabric, asked.window
    if (router is None) != (port is None) or (router is None) == (endpoint is None):
        raise BadRequest("lanes belong to a port or an endpoint", advice="Name router and port, or endpoint.")
    device: store.Device = "endpoint" if router is None else "router"
    number, count = (endpoint, len(fabric.endpoints)) if router is None else (router, len(fabric.routers))
    if number is None or number >= count:
        raise BadRequest(f"{fabric.name} has {count} {device}s, numbered from 0", advice="Name one of them.")
    if window is None:
        nothing = dict.fromkeys(LANE_ARRAYS, np.full(LANES, np.nan))
        return build_model(schemas.LaneFigures, at=None, window_s=None, **nothing, simulated=head.simulated)
    from_s, to_s = store.whole_window(window.from_s, window.to_s)
    sums = await store.lane_sums(conn, head.fabric_id, device, number, port or 0, from_s, to_s)
    used = {"at": utc_time(to_s), "window_s": to_s - from_s}
    return build_model(schemas.LaneFigures, **used, **sums, simulated=head.simulated)
