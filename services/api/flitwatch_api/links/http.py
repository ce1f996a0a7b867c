"""Routes of hot links and of the links that a job uses."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from flitwatch_api.answers import build_model, json_response
from flitwatch_api.counters.stalls import DEFAULT_WINDOW_S, resolve_window
from flitwatch_api.links import service
from flitwatch_api.names import TheNames
from flitwatch_api.parameters import FabricId, Time, Window
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.fabrics.slow_cables import list_slow_cables

http = APIRouter(prefix="/fabrics/{fabric}/links", tags=["links"], responses=RESPONSES)

At = Annotated[Time | None, Query(description="End of the window (default: the newest complete window).")]
Length = Annotated[Window, Query(description="Length of the window that ends at `at`.")]


@http.get("/hot", response_model=service.HotLinks)
async def hot_links(
    platform: ThePlatform,
    conn: Reader,
    names: TheNames,
    fabric: FabricId,
    at: At = None,
    window: Length = DEFAULT_WINDOW_S,
    limit: Annotated[int, Query(ge=1, le=500, description="Largest number of links in the answer.")] = 50,
    link_class: Annotated[
        str | None, Query(alias="class", max_length=40, description="Only links of this class.")
    ] = None,
    link: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Only this link.")] = None,
    router: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="Links with this router at either end.")
    ] = None,
    src_group: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Links from this group.")] = None,
    dst_group: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Links to this group.")] = None,
) -> Response:
    """List the links with the most stalls for the data that they send, and the jobs that use them, with estimated shares."""
    topology = await platform.topologies.get(conn, fabric)
    window_query = await resolve_window(platform, conn, topology, at, window, of_ports=True)
    link_filter = service.LinkFilter(link_class, link, router, src_group, dst_group)
    return json_response(await service.hot_links(platform, conn, names, window_query, link_filter, limit))


@http.get("/slow", response_model=service.SlowCables)
async def slow_cables(platform: ThePlatform, conn: Reader, fabric: FabricId) -> Response:
    """List cables that run at half the speed of most others of their kind or less, slowest first, and cables whose link flaps."""
    topology = await platform.topologies.get(conn, fabric)
    return json_response(build_model(service.SlowCables, items=await list_slow_cables(conn, topology.head.fabric_id)))


@http.get("/paths", response_model=service.JobPaths)
async def job_paths(
    platform: ThePlatform,
    conn: Reader,
    fabric: FabricId,
    job: Annotated[str, Query(min_length=1, max_length=60, description="As the scheduler prints it: 42, 3_4, 10+1.")],
    at: At = None,
    window: Length = DEFAULT_WINDOW_S,
) -> Response:
    """List the links that a job's traffic is expected to use, with the expected amount."""
    topology = await platform.topologies.get(conn, fabric)
    window_query = await resolve_window(platform, conn, topology, at, window, of_ports=True)
    return json_response(await service.job_paths(platform, conn, window_query, job))
