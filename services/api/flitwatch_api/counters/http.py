"""Routes of counters and stalls. `/congestion` is the name of `/stalls` before 1.0."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from numpy.typing import NDArray

from flitwatch_api import columnar
from flitwatch_api.answers import CachedAnswer, build_model, json_response, keep_bytes, stall_ratio, utc_texts, utc_time
from flitwatch_api.counters import schemas, series
from flitwatch_api.counters import stalls as service
from flitwatch_api.counters.stalls import WindowQuery
from flitwatch_api.counters.windows import LEVEL, LONGEST_STEP_S, MAX_POINTS, check_limit, serve_shared, topology_of
from flitwatch_api.counters.windows import Window as Spanned
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.names import names_of
from flitwatch_api.parameters import MAX_WINDOW_S, FabricId, Time, Window
from flitwatch_api.platform import Platform, Reader, ThePlatform
from flitwatch_api.problems import RESPONSES, UNCHANGED
from flitwatch_api.shared_answers import OF_EVERYTHING
from flitwatch_db.core.additive import LANE_ARRAYS
from flitwatch_db.core.columns import Connection
from flitwatch_db.counters import store
from flitwatch_db.counters.reads import PORT_BUCKET_S
from flitwatch_domain.counters import LANES
from flitwatch_domain.errors import BadRequest

http = APIRouter(prefix="/fabrics/{fabric}", tags=["counters"], responses=RESPONSES)

At = Annotated[Time | None, Query(description="End of the window (default: the newest complete window).")]
Length = Annotated[Window, Query(description="Length of the window that ends at `at`.")]
Class = Annotated[str | None, Query(alias="class", max_length=40, description="Only links of this class.")]
From = Annotated[Time | None, Query(alias="from")]
To = Annotated[Time | None, Query(description="Default: the time up to which data are complete.")]
Points = Annotated[int, Query(ge=1, le=MAX_POINTS, description="Largest number of steps in the answer.")]
#: Port numbers are one byte.
MOST_PORT = 255
OCTETS = "application/octet-stream"


@http.get("/stalls", response_model=schemas.StallFigures, responses=UNCHANGED)
@http.get("/congestion", response_model=schemas.StallFigures, responses=UNCHANGED, name="congestion", deprecated=True)
async def stalls(
    platform: ThePlatform,
    request: Request,
    fabric: FabricId,
    at: At = None,
    window: Length = service.DEFAULT_WINDOW_S,
    link_class: Class = None,
) -> Response:
    """Return stalled time divided by sending time in a window, by router, link class and pair of groups."""
    topology = await topology_of(platform, fabric)

    async def work(conn: Connection) -> schemas.StallFigures:
        window_query = await service.resolve_window(platform, conn, topology, at, window)
        return await service.load_stalls(platform, conn, window_query, link_class)

    return await serve_shared(platform, request, topology, ("stalls", at, window, link_class), work)


@http.get("/stalls/links", response_model=schemas.LinkFigures, responses=UNCHANGED)
@http.get(
    "/congestion/links",
    response_model=schemas.LinkFigures,
    responses=UNCHANGED,
    name="congestion_links",
    deprecated=True,
)
async def stalls_of_links(
    platform: ThePlatform,
    request: Request,
    fabric: FabricId,
    at: At = None,
    window: Length = service.DEFAULT_WINDOW_S,
    router: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="Links with this router at either end.")
    ] = None,
    group: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Links with this group at either end.")] = None,
    link_class: Class = None,
) -> Response:
    """Return stalled time divided by sending time in a window, by counted link. Links without a counter are absent."""
    topology = await topology_of(platform, fabric)

    async def work(conn: Connection) -> schemas.LinkFigures:
        window_query = await service.resolve_window(platform, conn, topology, at, window, of_ports=True)
        return await service.link_figures(conn, window_query, router, group, link_class)

    return await serve_shared(platform, request, topology, ("links", at, window, router, group, link_class), work)


@http.get("/lanes", response_model=schemas.LaneFigures)
async def lanes(
    platform: ThePlatform,
    conn: Reader,
    fabric: FabricId,
    at: At = None,
    window: Length = service.DEFAULT_WINDOW_S,
    router: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="Router of the port; use it with `port`.")
    ] = None,
    port: Annotated[int | None, Query(ge=0, le=MOST_PORT)] = None,
    endpoint: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Endpoint whose adapter to read.")] = None,
) -> Response:
    """Return counters of a window by virtual lane, service level or traffic class, for a router's port or an endpoint. Null means that there is no
    count."""
    topology = await platform.topologies.get(conn, fabric)
    window_query = await service.resolve_window(platform, conn, topology, at, window, of_ports=True)
    return json_response(await lane_figures(conn, window_query, router, port, endpoint))


@http.get(
    "/timeseries",
    response_model=schemas.Timeseries,
    responses={
        **UNCHANGED,
        200: {
            "content": columnar.CONTENT,
            "description": "As Arrow or Parquet: columns ts, router (unless summed) and one column per counter; null is unknown.",
        },
    },
)
async def timeseries(
    platform: ThePlatform,
    request: Request,
    fabric: FabricId,
    routers: Annotated[
        str, Query(max_length=16_000, pattern="^[0-9a-z:, ]+$", description="`1,2`, `all` or `group:3`.")
    ],
    counters: Annotated[
        str, Query(max_length=1000, description=f"Of {', '.join(series.COUNTERS)}; several by commas.")
    ] = "ratio",
    from_: From = None,
    to: To = None,
    points: Points = 300,
    total: Annotated[bool, Query(alias="sum", description="Return the sum over the routers as one row.")] = False,
) -> Response:
    """Return counters of routers over time, summed to at most `points` steps. A ratio is the step's summed stalls divided by its summed flits."""
    topology = await topology_of(platform, fabric)
    names = series.read_counters(counters)
    chosen = series.read_routers(topology, routers)

    async def find(conn: Connection) -> series.Series:
        span = await series.span_of(platform, conn, topology, from_, to)
        return await series.load_series(
            platform, conn, topology, series.SeriesQuery(chosen, names, span, points, total)
        )

    async def work(conn: Connection) -> schemas.Timeseries:
        return (await find(conn)).content()

    if kind := columnar.choose_format(request):
        async with platform.reading() as conn:
            counter_series = await find(conn)
        return await columnar.send_columns(
            kind,
            counter_series.ts,
            None if total else counter_series.routers,
            counter_series.values,
            _file_metadata(topology, counter_series.step_s),
        )
    query = ("timeseries", chosen.tobytes(), *names, from_, to, points, total)
    return await serve_shared(platform, request, topology, query, work, vary="Accept")


@http.get("/matrix", response_model=schemas.Matrix, responses=UNCHANGED)
async def matrix(
    platform: ThePlatform, request: Request, fabric: FabricId, from_: From = None, to: To = None
) -> Response:
    """Return traffic between groups over a period: the column sends, the row receives."""
    topology = await topology_of(platform, fabric)

    async def work(conn: Connection) -> schemas.Matrix:
        return await _load_matrix(platform, conn, topology, from_, to)

    return await serve_shared(platform, request, topology, ("matrix", from_, to), work)


async def _load_matrix(
    platform: Platform, conn: Connection, topology: Topology, from_s: float | None, to_s: float | None
) -> schemas.Matrix:
    groups = len(topology.fabric.groups)
    note = None
    span = await series.span_of(platform, conn, topology, from_s, to_s)
    if topology.head.snapshot:
        sums = service.pair_totals(topology, await service.total_ports(conn, topology))
    elif span is None:
        sums = np.full((2, groups, groups), np.nan)
    else:
        check_limit(span[1] - span[0], MAX_WINDOW_S, "MAX_WINDOW_S", "seconds", "Request a shorter period.")
        first, end = math.floor(span[0] / PORT_BUCKET_S), math.ceil(span[1] / PORT_BUCKET_S)
        window = Spanned(first * PORT_BUCKET_S, end * PORT_BUCKET_S, PORT_BUCKET_S)
        window_query = service.WindowQuery(
            topology,
            window,
            ports_s=await platform.topologies.ports_complete_s(conn, topology.head),
            reach=await platform.topologies.reach(conn, topology.head),
        )
        sums, one_in = await service.pair_sums(platform, conn, window_query)
        note = window_query.note(one_in)
    flits, stalls = np.ascontiguousarray(sums[0].T), np.ascontiguousarray(sums[1].T)
    return build_model(
        schemas.Matrix,
        groups=topology.fabric.groups,
        flits=flits,
        stall_cycles=stalls,
        ratio=stall_ratio(stalls, flits),
        note=note,
    )


@http.get("/overview", response_model=schemas.Overview, responses=UNCHANGED)
async def overview(
    platform: ThePlatform,
    request: Request,
    fabric: FabricId,
    from_: From = None,
    to: To = None,
    points: Points = 300,
) -> Response:
    """Return the whole machine over time, with gaps and marks, for a time brush."""
    async with platform.reading() as conn:
        topology = await platform.topologies.get(conn, fabric)
        names = await names_of(request, conn)

    async def work(conn: Connection) -> schemas.Overview:
        span = await series.span_of(platform, conn, topology, from_, to)
        return await series.load_overview(platform, conn, names, topology, span, points)

    return await serve_shared(platform, request, topology, ("overview", names, from_, to, points), work, OF_EVERYTHING)


@http.get(
    "/frames",
    response_model=schemas.Frames,
    responses={
        **UNCHANGED,
        200: {
            "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}, **columnar.CONTENT},
            "description": "As Arrow or Parquet: columns ts, router, flits, stall_cycles, ratio. With Accept: "
            "application/octet-stream float32, little endian: flits[step][router], then "
            "stall_cycles[step][router]; NaN is unknown.",
        },
    },
)
async def frames(
    platform: ThePlatform,
    request: Request,
    fabric: FabricId,
    from_: From = None,
    to: To = None,
    step: Annotated[
        int, Query(ge=1, le=LONGEST_STEP_S, description="Shortest step in seconds; the answer's step can be longer.")
    ] = 10,
    link_class: Class = None,
) -> Response:
    """Return flits and stalls of every router by step. The page sums windows of them while the reader drags."""
    topology = await topology_of(platform, fabric)
    octets = OCTETS in request.headers.get("accept", "")

    async def work(conn: Connection) -> schemas.Frames | CachedAnswer:
        span = await series.span_of(platform, conn, topology, from_, to)
        ts, step_s, flits, stalls = await series.load_frames(platform, conn, topology, span, step, link_class)
        if octets:
            start = ts[0] if len(ts) else int(span[0]) if span else 0
            return await asyncio.to_thread(_encode_frames, topology, int(start), step_s, flits, stalls)
        return build_model(
            schemas.Frames,
            ts=utc_texts(ts),
            step_s=step_s,
            routers=np.arange(topology.size),
            flits=flits,
            stall_cycles=stalls,
        )

    if kind := columnar.choose_format(request):
        async with platform.reading() as conn:
            span = await series.span_of(platform, conn, topology, from_, to)
            ts, step_s, flits, stalls = await series.load_frames(platform, conn, topology, span, step, link_class)
        figures: dict[str, np.ndarray] = {"flits": flits, "stall_cycles": stalls, "ratio": stall_ratio(stalls, flits)}
        return await columnar.send_columns(
            kind, ts, np.arange(topology.size), figures, _file_metadata(topology, step_s)
        )
    query = ("frames", octets, from_, to, step, link_class)
    return await serve_shared(platform, request, topology, query, work, vary="Accept")


def _encode_frames(
    topology: Topology, start_s: int, step_s: int, flits: NDArray[np.float64], stalls: NDArray[np.float64]
) -> CachedAnswer:
    """Encode frames as float32, with headers that describe them."""
    headers = {
        "X-Frames": str(len(flits)),
        "X-Routers": str(topology.size),
        "X-From": utc_texts(np.asarray([start_s]))[0],
        "X-Step-Seconds": str(step_s),
    }
    return keep_bytes(flits.astype("<f4").tobytes() + stalls.astype("<f4").tobytes(), OCTETS, headers, LEVEL)


def _file_metadata(topology: Topology, step_s: int) -> dict[str, str]:
    """Return the metadata of an Arrow or Parquet file."""
    head = topology.head
    return {
        "fabric": head.name,
        "step_s": str(step_s),
        "simulated": str(head.simulated).lower(),
        "counted_at": head.counted_at,
    }


async def lane_figures(
    conn: Connection, asked: WindowQuery, router: int | None, port: int | None, endpoint: int | None
) -> schemas.LaneFigures:
    """Return the response of `/lanes`. Raise BadRequest unless the query names one port or one endpoint of the fabric."""
    head, fabric, window = asked.topology.head, asked.topology.fabric, asked.window
    if (router is None) != (port is None) or (router is None) == (endpoint is None):
        raise BadRequest("lanes belong to a port or an endpoint", advice="Name router and port, or endpoint.")
    device: store.Device = "endpoint" if router is None else "router"
    number, count = (endpoint, len(fabric.endpoints)) if router is None else (router, len(fabric.routers))
    if number is None or number >= count:
        raise BadRequest(f"{fabric.name} has {count} {device}s, numbered from 0", advice="Name one of them.")
    if window is None:
        nothing = dict.fromkeys(LANE_ARRAYS, np.full(LANES, np.nan))
        return build_model(schemas.LaneFigures, at=None, window_s=None, **nothing, simulated=head.simulated)
    from_s, to_s = store.whole_window(window.from_s, window.to_s)
    sums = await store.lane_sums(conn, head.fabric_id, device, number, port or 0, from_s, to_s)
    used = {"at": utc_time(to_s), "window_s": to_s - from_s}
    return build_model(schemas.LaneFigures, **used, **sums, simulated=head.simulated)
