"""The routes of a machine as far as they are known: of a dragonfly, under forwarding tables, or of a fat tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.link_shares import DragonflyRoutes, Routes
from flitwatch_domain.table_routes import TableRoutes
from flitwatch_domain.tree_routes import TreeRoutes


def routes_of(fabric: Fabric, ports: NDArray[np.integer] | None = None) -> Routes:
    """The expected loads of a machine's links; `reason` says why there is no estimate.

    Parameters
    ----------
    ports : integer (switches, endpoints) or None
        The output ports of the forwarding tables that are loaded, -1 if there is no entry; None: not known. Tables that do not fit the fabric are not used.
    """
    if fabric.kind is FabricKind.DRAGONFLY:
        return DragonflyRoutes(fabric)
    tables = None if ports is None else TableRoutes(fabric, ports)
    return tables if tables is not None and tables.reason is None else TreeRoutes(fabric)
