"""Known routes of a machine: of a dragonfly, from forwarding tables, or of a fat tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.link_shares import DragonflyRoutes, Routes
from flitwatch_domain.table_routes import TableRoutes
from flitwatch_domain.tree_routes import TreeRoutes


def routes_of(fabric: Fabric, ports: NDArray[np.integer] | None = None) -> Routes:
    """Return the expected loads of a machine's links; `reason` says why there is no estimate.

    Parameters
    ----------
    ports : integer (switches, endpoints) or None
        Output ports of the loaded forwarding tables, -1 if there is no entry; None if unknown. Tables that do not match the fabric are ignored.
    """
    if fabric.kind is FabricKind.DRAGONFLY:
        return DragonflyRoutes(fabric)
    tables = None if ports is None else TableRoutes(fabric, ports)
    return tables if tables is not None and tables.reason is None else TreeRoutes(fabric)
