"""Invariants of every generated fabric."""

from __future__ import annotations

from collections import Counter

import networkx as nx

from flitwatch_domain import cray
from flitwatch_domain.fabric import Fabric


def graph(fabric: Fabric) -> nx.MultiDiGraph:
    out = nx.MultiDiGraph()
    out.add_nodes_from(range(fabric.vertices))
    out.add_edges_from(zip(fabric.links.src.tolist(), fabric.links.dst.tolist(), strict=True))
    return out


def assert_sound(fabric: Fabric) -> None:
    """Every link has its opposite, no port is used twice, the fabric is connected."""
    links, routers = fabric.links, len(fabric.routers)
    forward = Counter(zip(links.src, links.src_port, links.dst, links.dst_port, strict=True))
    backward = Counter(zip(links.dst, links.dst_port, links.src, links.src_port, strict=True))
    assert forward == backward
    at_router = links.src < routers
    ports = Counter(zip(links.src[at_router], links.src_port[at_router], strict=True))
    assert max(ports.values(), default=1) == 1
    assert nx.is_strongly_connected(graph(fabric))


# Cray cable lists of generated machines.


def written(fabric: Fabric) -> list[str]:
    """A generated machine as `rtr --interconnect` prints it."""
    links, routers = fabric.links, fabric.routers

    def place(router: int, tile: int) -> str:
        here = f"({routers.group[router]}:{routers.row[router]}:{routers.col[router]})"
        return f"{routers.name[router]}l{cray.tile_name(tile)}{here}"

    lines = []
    for link in fabric.router_links().nonzero()[0]:
        a = place(links.src[link], links.src_port[link])
        b = place(links.dst[link], links.dst_port[link])
        lines.append(f"{a} {links.classes[links.link_class[link]]} -> {b}")
    for router, port in zip(fabric.endpoints.router, fabric.endpoints.port, strict=True):
        lines += [f"{place(router, port + lane)} ptile -> processor" for lane in (0, 1)]
    return lines
