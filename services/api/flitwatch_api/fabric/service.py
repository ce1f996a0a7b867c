"""Answers about fabrics from a topology."""

from __future__ import annotations

from typing import Any

import numpy as np

from flitwatch_api.answers import moment, number, ratio, shape, unknown_as_null
from flitwatch_api.counters.stalls import Ports, WindowQuery, total_ports, window_ports
from flitwatch_api.fabric import schemas
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.jobs.service import holders
from flitwatch_api.names import Names
from flitwatch_api.platform import Platform
from flitwatch_db.core.columns import Connection
from flitwatch_db.fabrics import reads


async def describe(
    platform: Platform, conn: Connection, head: reads.FabricHead, detail: bool = False
) -> schemas.Fabric:
    """A fabric as lists name it, or with what its importer noted."""
    reach = await platform.topologies.reach(conn, head)
    routers, endpoints, links, groups = await platform.topologies.sizes(conn, head)
    item = shape(
        schemas.Fabric,
        id=head.fabric_id,
        name=head.name,
        kind=head.kind,
        technology=head.technology,
        simulated=head.simulated,
        snapshot=head.snapshot,
        recorded=head.attributes.get("recorded") is True,
        counted_at=head.counted_at,
        routers=routers,
        endpoints=endpoints,
        links=links,
        groups=groups,
        first_ts=moment(reach.first_s),
        last_ts=moment(reach.last_s),
        complete_through=moment(await platform.topologies.complete_s(conn, head)),
    )
    if not detail:
        return item
    return shape(
        schemas.FabricDetail,
        vars(item),
        source=head.source,
        attributes=head.attributes,
        warnings=head.warnings,
        created_at=head.created_at,
    )


def routers(topology: Topology, sampled: np.ndarray) -> schemas.Routers:
    """The answer of `/routers`."""
    known = topology.fabric.routers
    return shape(
        schemas.Routers,
        router=np.arange(topology.size),
        name=list(known.name),
        group=unknown_as_null(known.group),
        row=unknown_as_null(known.row),
        col=unknown_as_null(known.col),
        level=unknown_as_null(known.level),
        coords=known.coords if known.coords.shape[1] else None,
        nodes=np.bincount(topology.fabric.endpoints.router, minlength=topology.size),
        sampled=sampled.tolist(),
    )


def links(topology: Topology, link_class: str | None, group: int | None, terminals: bool) -> schemas.Links:
    """The answer of `/links`."""
    known = topology.fabric.links
    mask = np.ones(len(known), dtype=bool) if terminals else topology.network.copy()
    if link_class is not None:
        mask &= topology.fabric.of_class(link_class)
    chosen = np.flatnonzero(mask)
    src, dst = topology.vertex_ends(mask)
    if group is not None:
        keep = (topology.group[src] == group) | (topology.group[dst] == group)
        chosen, src, dst = chosen[keep], src[keep], dst[keep]
    names = np.asarray([str(name) for name in known.classes], dtype=object)
    columns: dict[str, Any] = {
        "link": chosen,
        "src": src,
        "dst": dst,
        "src_port": unknown_as_null(known.src_port[chosen]),
        "dst_port": unknown_as_null(known.dst_port[chosen]),
        "class": names[known.link_class[chosen]],
        "bandwidth_bps": known.bandwidth_bps[chosen],
        "multiplicity": known.multiplicity[chosen],
    }
    if terminals:
        columns["src_endpoint"] = unknown_as_null(
            np.where(known.src[chosen] < topology.size, -1, known.src[chosen] - topology.size)
        )
        columns["dst_endpoint"] = unknown_as_null(
            np.where(known.dst[chosen] < topology.size, -1, known.dst[chosen] - topology.size)
        )
    return shape(schemas.Links, columns)


def endpoints(topology: Topology) -> schemas.Endpoints:
    """The answer of `/endpoints`."""
    known = topology.fabric.endpoints
    return shape(
        schemas.Endpoints,
        endpoint=np.arange(len(known)),
        router=known.router,
        port=unknown_as_null(known.port),
        node=list(known.node),
        nid=unknown_as_null(known.nid),
        role=known.role_names,
    )


async def router_detail(
    platform: Platform, conn: Connection, names: Names, asked: WindowQuery, router: int
) -> schemas.RouterDetail:
    """The answer of `/routers/{router}`."""
    topology = asked.topology
    topology.check_router(router)
    if topology.head.snapshot:
        ports = await total_ports(conn, topology)
    elif asked.window is None:
        ports = np.full(topology.counted.shape, np.nan), np.full(topology.counted.shape, np.nan)
    else:
        ports, _ = await window_ports(conn, topology, asked, [router])
    known = topology.fabric.routers
    return shape(
        schemas.RouterDetail,
        {
            key: None if column[router] < 0 else int(column[router])
            for key, column in (("group", known.group), ("row", known.row), ("col", known.col), ("level", known.level))
        }
        | asked.head(),
        router=router,
        name=str(known.name[router]),
        nodes=[
            str(topology.fabric.endpoints.node[e]) for e in np.flatnonzero(topology.fabric.endpoints.router == router)
        ],
        tiles=[_tile(topology, router, port, ports) for port in _ports(topology, router)],
        jobs=[
            # `routers` of a holder is no field of these.
            shape(schemas.JobOnRouter, vars(job))
            for job in await holders(conn, names, topology, asked.window.to_s if asked.window else None, router)
        ],
    )


def _ports(topology: Topology, router: int) -> list[int]:
    """Ports that exist: all tiles of an Aries, the cabled ports of a switch."""
    if topology.head.technology == "cray_xc":
        return list(range(topology.counted.shape[1]))
    return np.flatnonzero(topology.counted[router] >= 0).tolist()


def _tile(topology: Topology, router: int, port: int, ports: Ports) -> schemas.Tile:
    link = int(topology.counted[router, port])
    flits, stalls = float(ports[0][router, port]), float(ports[1][router, port])
    return shape(
        schemas.Tile,
        port=port,
        name=topology.port_name(router, port),
        class_=topology.link_class(link) if link >= 0 else None,
        peer=_peer(topology, router, link) if link >= 0 else None,
        link=link if link >= 0 else None,
        flits=number(flits),
        stall_cycles=number(stalls),
        ratio=number(float(ratio(stalls, flits))),
    )


def _peer(topology: Topology, router: int, link: int) -> schemas.Peer:
    src, dst = int(topology.fabric.links.src[link]), int(topology.fabric.links.dst[link])
    other = src if dst == router else dst
    name = topology.fabric.vertex_name(other)
    if other < topology.size:
        return schemas.Peer(router=other, node=None, name=name)
    return schemas.Peer(router=None, node=name, name=name)
