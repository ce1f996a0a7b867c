"""Static routes of a tree for the packet engine, from forwarding-table dumps or from output ports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.packet import NO_LINK
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric


def read_table(path: Path, fabric: Fabric) -> NDArray[np.uint32]:
    """Return links of each (endpoint, router) from an OpenSM dump. Raise BadInput if the text is not a dump or does not fit the fabric; the message
    contains the file."""
    from flitwatch_routing import lft

    return table_of_ports(fabric, lft.read_ports(path, fabric))


def table_of_ports(fabric: Fabric, ports: NDArray[np.integer]) -> NDArray[np.uint32]:
    """Return links uint32[endpoint, router] at output `ports` int[router, endpoint]; -1 and a switch's own port 0 become no link. Raise BadRequest if
    a port has no cable."""
    links, routers, endpoints = fabric.links, len(fabric.routers), len(fabric.endpoints)
    if ports.shape != (routers, endpoints):
        raise BadRequest(f"routes have shape {ports.shape}; expected {(routers, endpoints)}")
    src, src_port = np.asarray(links.src, np.int64), np.asarray(links.src_port, np.int64)
    leaves = np.flatnonzero((src < routers) & (src_port >= 0))
    width = max(int(src_port[leaves].max(initial=0)), int(ports.max(initial=0))) + 1
    link_of = np.full((routers, width), NO_LINK, np.uint32)
    link_of[src[leaves], src_port[leaves]] = leaves
    used = ports > 0 if src_port[leaves].min(initial=1) > 0 else ports >= 0
    router = np.broadcast_to(np.arange(routers)[:, None], ports.shape)
    table = np.where(used, link_of[router, np.maximum(ports, 0)], NO_LINK)
    missing = used & (table == NO_LINK)
    if missing.any():
        r, e = np.argwhere(missing)[0]
        raise BadRequest(f"the routes leave switch {fabric.routers.name[r]} by port {ports[r, e]}, which has no cable")
    return np.ascontiguousarray(table.T)
