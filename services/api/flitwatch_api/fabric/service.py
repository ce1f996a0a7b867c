"""Responses about fabrics, from their topologies."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from flitwatch_api.answers import Page, build_model, finite_or_none, stall_ratio, unknown_as_null, utc_time
from flitwatch_api.counters.stalls import Ports, WindowQuery, total_ports, window_ports
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.jobs.service import JobOnRouter, list_holders
from flitwatch_api.names import Names
from flitwatch_api.platform import Platform
from flitwatch_db.core.columns import Connection
from flitwatch_db.fabrics import reads


class Fabric(BaseModel):
    """A fabric in a list."""

    id: int
    name: str
    kind: str = Field(description="dragonfly, fat_tree, torus or graph")
    technology: str = Field(description="cray_xc, slingshot, infiniband, opa or generic")
    simulated: bool
    snapshot: bool = Field(description="Its counters are one sample without a time.")
    recorded: bool = Field(description="Its counters are a complete recording; no more are expected.")
    counted_at: str = Field(description="receiver or sender: the end of a link that counts.")
    routers: int
    endpoints: int
    links: int
    groups: list[int]
    first_ts: datetime | None = Field(description="Start of the oldest data.")
    last_ts: datetime | None = Field(description="End of the newest data.")
    cards_last_ts: datetime | None = Field(
        description="End of the newest counters of network cards; null if routers have counters."
    )
    complete_through: datetime | None = Field(description="Time up to which rows are complete.")


class FabricList(Page[Fabric]):
    """All fabrics."""


class FabricDetail(Fabric):
    """A fabric with its importer's notes."""

    source: str
    attributes: dict[str, Any]
    warnings: list[str]
    created_at: datetime


class Routers(BaseModel):
    """Columns with one entry per router."""

    router: list[int]
    name: list[str]
    group: list[int | None]
    row: list[int | None]
    col: list[int | None]
    level: list[int | None]
    coords: list[list[int]] | None
    nodes: list[int] = Field(description="Number of its endpoints.")
    sampled: list[bool] = Field(description="Whether it has counters on the newest day of data.")


class Links(BaseModel):
    """Columns with one entry per directed link; if an end is a node, its router is given."""

    link: list[int]
    src: list[int]
    dst: list[int]
    src_port: list[int | None]
    dst_port: list[int | None]
    class_: list[str] = Field(alias="class")
    bandwidth_bps: list[float | None]
    multiplicity: list[int]
    src_endpoint: list[int | None] | None = Field(
        default=None, description="With terminals=true: the sending endpoint."
    )
    dst_endpoint: list[int | None] | None = None


class Endpoints(BaseModel):
    """Columns with one entry per endpoint."""

    endpoint: list[int]
    router: list[int]
    port: list[int | None]
    node: list[str]
    nid: list[int | None]
    role: list[str]


class Peer(BaseModel):
    """The other end of a tile's link."""

    router: int | None = None
    node: str | None = None
    name: str | None = None


class Tile(BaseModel):
    """A port of a router."""

    port: int
    name: str
    class_: str | None = Field(alias="class")
    peer: Peer | None
    link: int | None
    flits: float | None
    stall_cycles: float | None
    ratio: float | None


class RouterDetail(BaseModel):
    """A router, its ports in a window, and the jobs on it at the window's end."""

    router: int
    name: str
    group: int | None
    row: int | None
    col: int | None
    level: int | None
    nodes: list[str]
    at: datetime | None
    window_s: int | None
    tiles: list[Tile]
    jobs: list[JobOnRouter]


async def describe_fabric(platform: Platform, conn: Connection, head: reads.FabricHead, detail: bool = False) -> Fabric:
    """Return a fabric as shown in lists, or with its importer's notes."""
    reach = await platform.topologies.reach(conn, head)
    routers, endpoints, links, groups = await platform.topologies.sizes(conn, head)
    item = build_model(
        Fabric,
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
        first_ts=utc_time(reach.first_s),
        last_ts=utc_time(reach.last_s),
        cards_last_ts=utc_time(reach.cards_last_s),
        complete_through=utc_time(await platform.topologies.complete_s(conn, head)),
    )
    if not detail:
        return item
    return build_model(
        FabricDetail,
        vars(item),
        source=head.source,
        attributes=head.attributes,
        warnings=head.warnings,
        created_at=head.created_at,
    )


def list_routers(topology: Topology, sampled: np.ndarray) -> Routers:
    """Return the response of `/routers`."""
    fabric_routers = topology.fabric.routers
    return build_model(
        Routers,
        router=np.arange(topology.size),
        name=list(fabric_routers.name),
        group=unknown_as_null(fabric_routers.group),
        row=unknown_as_null(fabric_routers.row),
        col=unknown_as_null(fabric_routers.col),
        level=unknown_as_null(fabric_routers.level),
        coords=fabric_routers.coords if fabric_routers.coords.shape[1] else None,
        nodes=np.bincount(topology.fabric.endpoints.router, minlength=topology.size),
        sampled=sampled.tolist(),
    )


def list_links(topology: Topology, link_class: str | None, group: int | None, terminals: bool) -> Links:
    """Return the response of `/links`."""
    fabric_links = topology.fabric.links
    mask = np.ones(len(fabric_links), dtype=bool) if terminals else topology.network.copy()
    if link_class is not None:
        mask &= topology.fabric.of_class(link_class)
    chosen = np.flatnonzero(mask)
    src, dst = topology.vertex_ends(mask)
    if group is not None:
        keep = (topology.group[src] == group) | (topology.group[dst] == group)
        chosen, src, dst = chosen[keep], src[keep], dst[keep]
    names = np.asarray([str(name) for name in fabric_links.classes], dtype=object)
    columns: dict[str, Any] = {
        "link": chosen,
        "src": src,
        "dst": dst,
        "src_port": unknown_as_null(fabric_links.src_port[chosen]),
        "dst_port": unknown_as_null(fabric_links.dst_port[chosen]),
        "class": names[fabric_links.link_class[chosen]],
        "bandwidth_bps": fabric_links.bandwidth_bps[chosen],
        "multiplicity": fabric_links.multiplicity[chosen],
    }
    if terminals:
        columns["src_endpoint"] = unknown_as_null(
            np.where(fabric_links.src[chosen] < topology.size, -1, fabric_links.src[chosen] - topology.size)
        )
        columns["dst_endpoint"] = unknown_as_null(
            np.where(fabric_links.dst[chosen] < topology.size, -1, fabric_links.dst[chosen] - topology.size)
        )
    return build_model(Links, columns)


def list_endpoints(topology: Topology) -> Endpoints:
    """Return the response of `/endpoints`."""
    fabric_endpoints = topology.fabric.endpoints
    return build_model(
        Endpoints,
        endpoint=np.arange(len(fabric_endpoints)),
        router=fabric_endpoints.router,
        port=unknown_as_null(fabric_endpoints.port),
        node=list(fabric_endpoints.node),
        nid=unknown_as_null(fabric_endpoints.nid),
        role=fabric_endpoints.role_names,
    )


async def router_detail(conn: Connection, names: Names, asked: WindowQuery, router: int) -> RouterDetail:
    """Return the response of `/routers/{router}`."""
    topology = asked.topology
    topology.check_router(router)
    if topology.head.snapshot:
        ports = await total_ports(conn, topology)
    elif asked.window is None:
        ports = np.full(topology.counted.shape, np.nan), np.full(topology.counted.shape, np.nan)
    else:
        ports, _ = await window_ports(conn, topology, asked, [router])
    fabric_routers = topology.fabric.routers
    return build_model(
        RouterDetail,
        {
            key: None if column[router] < 0 else int(column[router])
            for key, column in (
                ("group", fabric_routers.group),
                ("row", fabric_routers.row),
                ("col", fabric_routers.col),
                ("level", fabric_routers.level),
            )
        }
        | asked.head(),
        router=router,
        name=str(fabric_routers.name[router]),
        nodes=[
            str(topology.fabric.endpoints.node[e]) for e in np.flatnonzero(topology.fabric.endpoints.router == router)
        ],
        tiles=[_make_tile(topology, router, port, ports) for port in _existing_ports(topology, router)],
        jobs=[
            # `routers` of a job is not a field of this model.
            build_model(JobOnRouter, vars(job))
            for job in await list_holders(conn, names, topology, asked.window.to_s if asked.window else None, router)
        ],
    )


def _existing_ports(topology: Topology, router: int) -> list[int]:
    """Return the existing ports: all tiles of an Aries router, the cabled ports of a switch."""
    if topology.head.technology == "cray_xc":
        return list(range(topology.counted.shape[1]))
    return np.flatnonzero(topology.counted[router] >= 0).tolist()


def _make_tile(topology: Topology, router: int, port: int, ports: Ports) -> Tile:
    link = int(topology.counted[router, port])
    flits, stalls = float(ports[0][router, port]), float(ports[1][router, port])
    return build_model(
        Tile,
        port=port,
        name=topology.port_name(router, port),
        class_=topology.link_class(link) if link >= 0 else None,
        peer=_make_peer(topology, router, link) if link >= 0 else None,
        link=link if link >= 0 else None,
        flits=finite_or_none(flits),
        stall_cycles=finite_or_none(stalls),
        ratio=finite_or_none(float(stall_ratio(stalls, flits))),
    )


def _make_peer(topology: Topology, router: int, link: int) -> Peer:
    src, dst = int(topology.fabric.links.src[link]), int(topology.fabric.links.dst[link])
    other = src if dst == router else dst
    name = topology.fabric.vertex_name(other)
    if other < topology.size:
        return Peer(router=other, node=None, name=name)
    return Peer(router=None, node=name, name=name)
