"""Routes of fabrics, routers, links and endpoints."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from flitwatch_api.answers import json_response, tagged_response
from flitwatch_api.counters.stalls import DEFAULT_WINDOW_S, resolve_window
from flitwatch_api.fabric import service
from flitwatch_api.names import TheNames
from flitwatch_api.parameters import FabricId, Time, Window
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES, UNCHANGED
from flitwatch_db.fabrics import reads

http = APIRouter(prefix="/fabrics", tags=["fabrics"], responses=RESPONSES)


@http.get("", response_model=service.FabricList)
async def fabrics(platform: ThePlatform, conn: Reader) -> Response:
    """List all fabrics."""
    items = [await service.describe_fabric(platform, conn, head) for head in await reads.list_heads(conn)]
    return json_response({"items": items, "next_cursor": None})


@http.get("/{fabric}", response_model=service.FabricDetail)
async def fabric_detail(platform: ThePlatform, conn: Reader, fabric: FabricId) -> Response:
    """Return one fabric."""
    return json_response(
        await service.describe_fabric(platform, conn, await reads.find_fabric_head(conn, fabric), detail=True)
    )


@http.get("/{fabric}/routers", response_model=service.Routers, responses=UNCHANGED)
async def routers(platform: ThePlatform, conn: Reader, request: Request, fabric: FabricId) -> Response:
    """Return the routers and their positions."""
    topology = await platform.topologies.get(conn, fabric)
    sampled = await platform.topologies.sampled(conn, topology)
    what = ("routers", sampled.tobytes())
    return tagged_response(
        request, await platform.topologies.kept(topology, what, lambda: service.list_routers(topology, sampled))
    )


@http.get("/{fabric}/links", response_model=service.Links, responses=UNCHANGED)
async def links(
    platform: ThePlatform,
    conn: Reader,
    request: Request,
    fabric: FabricId,
    link_class: Annotated[str | None, Query(alias="class", max_length=40)] = None,
    group: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Links with this group at either end.")] = None,
    terminals: Annotated[bool, Query(description="Include the links between routers and nodes.")] = False,
) -> Response:
    """Return the links between routers."""
    topology = await platform.topologies.get(conn, fabric)
    if not terminals:
        topology.check_class(link_class)
    if group is not None:
        topology.in_group(group)
    what = ("links", link_class, group, terminals)
    return tagged_response(
        request,
        await platform.topologies.kept(
            topology, what, lambda: service.list_links(topology, link_class, group, terminals)
        ),
    )


@http.get("/{fabric}/endpoints", response_model=service.Endpoints, responses=UNCHANGED)
async def endpoints(platform: ThePlatform, conn: Reader, request: Request, fabric: FabricId) -> Response:
    """List the endpoints and their routers."""
    topology = await platform.topologies.get(conn, fabric)
    return tagged_response(
        request, await platform.topologies.kept(topology, ("endpoints",), lambda: service.list_endpoints(topology))
    )


@http.get("/{fabric}/routers/{router}", response_model=service.RouterDetail)
async def router_detail(
    platform: ThePlatform,
    conn: Reader,
    names: TheNames,
    fabric: FabricId,
    router: Annotated[int, Path(ge=0, le=2**31 - 1)],
    at: Annotated[Time | None, Query(description="End of the window (default: the newest complete window).")] = None,
    window: Annotated[Window, Query(description="Length of the window.")] = DEFAULT_WINDOW_S,
) -> Response:
    """Return one router: its ports in a window and the jobs on it."""
    topology = await platform.topologies.get(conn, fabric)
    window_query = await resolve_window(platform, conn, topology, at, window, of_ports=True)
    return json_response(await service.router_detail(conn, names, window_query, router))
