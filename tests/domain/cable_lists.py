"""Cray cable lists of generated machines."""

from __future__ import annotations

from flitwatch_domain import cray
from flitwatch_domain.fabric import Fabric


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
