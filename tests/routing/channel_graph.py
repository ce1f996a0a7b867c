"""Channel dependencies of forwarding tables, computed link by link."""

from __future__ import annotations

import networkx
import numpy as np

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import links_by_port


def graph(fabric: Fabric, ports: np.ndarray) -> networkx.DiGraph:
    """Dependencies by following every way link by link."""
    link_of, dst, routers = links_by_port(fabric, int(ports.max())), fabric.links.dst, len(fabric.routers)
    found = networkx.DiGraph()
    for source in set(fabric.endpoints.router.tolist()):
        for end in range(ports.shape[1]):
            at, before = source, None
            for _ in range(2 * len(dst)):
                link = int(link_of[at, ports[at, end]]) if ports[at, end] >= 0 else -1
                if link < 0 or dst[link] >= routers:
                    break
                if before is not None:
                    found.add_edge(before, link)
                at, before = int(dst[link]), link
    return found
