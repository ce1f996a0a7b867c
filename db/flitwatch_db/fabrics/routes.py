"""Routes of a fabric in a period: from its imported forwarding tables, or else assumed for such a machine."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import psycopg

from flitwatch_db.fabrics import route_changes
from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.link_shares import Routes
from flitwatch_domain.routes import routes_of

_MOST_MADE = 4
_made: OrderedDict[tuple[int, tuple[int, str] | None], tuple[Fabric, Routes]] = OrderedDict()
_lock = threading.Lock()


def routes_at(conn: psycopg.Connection[Any], fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> Routes:
    """Return the routes in [from, to), epoch seconds, cached by the fabric's version and tables. Tables that changed in between are not used."""
    tables = (
        None
        if fabric.kind is FabricKind.DRAGONFLY
        else route_changes.find_tables_key(conn, fabric_id, float(from_s), float(to_s))
    )
    key = (id(fabric), tables)
    with _lock:
        cached = _made.get(key)
        if cached is not None:
            _made.move_to_end(key)
            return cached[1]
    routes = routes_of(fabric, None if tables is None else route_changes.ports_of(conn, fabric_id, tables))
    with _lock:
        _made[key] = (fabric, routes)
        while len(_made) > _MOST_MADE:
            _made.popitem(last=False)
    return routes
