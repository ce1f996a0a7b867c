"""Routes of jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from flitwatch_api.answers import json_response, utc_time
from flitwatch_api.jobs import service
from flitwatch_api.names import TheNames
from flitwatch_api.parameters import Cluster, CursorText, FabricId, JobId, Limit, Text, Time, at_moment
from flitwatch_api.platform import Reader, ThePlatform
from flitwatch_api.problems import RESPONSES
from flitwatch_db.fabrics import reads as fabrics
from flitwatch_db.jobs import reads
from flitwatch_domain.errors import BadRequest

http = APIRouter(tags=["jobs"], responses=RESPONSES)


def _split_list(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


@http.get("/jobs", response_model=service.JobList)
async def jobs(
    conn: Reader,
    names: TheNames,
    fabric: Annotated[
        str | None, Query(max_length=200, description="Jobs with nodes on this fabric (number or name).")
    ] = None,
    user: Annotated[str | None, Query(max_length=1000, description="Users, separated by commas.")] = None,
    state: Annotated[str | None, Query(max_length=400, description="States, separated by commas.")] = None,
    name: Text = None,
    q: Annotated[str | None, Query(max_length=200, description="Part of id, name, user or account.")] = None,
    at: Annotated[Time | None, Query(description="Jobs that ran at this moment.")] = None,
    from_: Annotated[Time | None, Query(alias="from", description="Jobs that ran at or after this time.")] = None,
    to: Annotated[Time | None, Query(description="Jobs that started at or before this time.")] = None,
    sort: Annotated[str, Query(max_length=40, description="Column, with a minus for descending order.")] = "-start",
    limit: Limit = 100,
    cursor: CursorText = None,
) -> Response:
    """List jobs, newest first unless sorted otherwise."""
    if at is not None and (from_ is not None or to is not None):
        raise BadRequest("`at` cannot be combined with a period", advice="Give at, or from and to.")
    fabric_id = (await fabrics.find_fabric_head(conn, fabric)).fabric_id if fabric else None
    start, end = (at, at) if at is not None else (from_, to)
    return json_response(
        await service.list_jobs(
            conn,
            names,
            sort,
            limit,
            cursor,
            fabric_id=fabric_id,
            users=_split_list(user),
            states=[s.upper() for s in _split_list(state)],
            name=name or None,
            text=q or None,
            from_=None if start is None else at_moment(start),
            to=None if end is None else at_moment(end),
        )
    )


@http.get("/jobs/{job_id}", response_model=service.JobDetail)
async def job(
    conn: Reader,
    platform: ThePlatform,
    names: TheNames,
    job_id: JobId,
    cluster: Cluster = None,
) -> Response:
    """Return one job, its nodes on the fabric and its neighbours."""
    return json_response(await service.load_job_detail(conn, names, platform.job_links, job_id, cluster or None))


@http.get("/fabrics/{fabric}/occupancy", response_model=service.Occupancy)
async def occupancy(
    platform: ThePlatform,
    conn: Reader,
    names: TheNames,
    fabric: FabricId,
    at: Annotated[Time | None, Query(description="Default: the time up to which data are complete.")] = None,
) -> Response:
    """Return the jobs that occupy routers of a fabric at a given time."""
    topology = await platform.topologies.get(conn, fabric)
    if at is None and not topology.head.snapshot:
        complete = await platform.topologies.complete_s(conn, topology.head)
        at = None if complete is None else float(complete)
    shown = None if topology.head.snapshot else utc_time(at)
    jobs = await service.list_holders(conn, names, topology, at)
    nodes_held = await reads.nodes_held(conn, topology.head.fabric_id, shown) if jobs else 0
    return json_response({"at": shown, "nodes_held": nodes_held, "jobs": jobs})
