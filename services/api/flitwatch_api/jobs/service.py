"""Responses about jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from flitwatch_api.answers import Page, build_model
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.jobs.links import JobLink
from flitwatch_api.names import Names
from flitwatch_api.parameters import at_moment, make_cursor, read_cursor
from flitwatch_api.runs.schemas import Run
from flitwatch_db.core.columns import Connection
from flitwatch_db.jobs import reads
from flitwatch_db.runs import reads as runs
from flitwatch_domain.errors import BadRequest, NotFound


class JobHead(BaseModel):
    """Fields common to all responses about a job."""

    job_pk: int
    cluster: str
    job_id: str = Field(description="As the scheduler prints it: 42, 3_4, 10+1.")
    user: str | None
    account: str | None
    name: str | None
    partition: str | None
    state: str
    submit: datetime | None
    start: datetime | None
    end: datetime | None
    elapsed_s: float | None = Field(description="Until now for a running job; null if its end is unknown.")
    nodes: int | None
    groups: list[int]
    fabric_id: int | None = Field(description="The fabric with most of its nodes' endpoints.")
    simulated: bool


class Job(JobHead):
    """A job in a list."""

    routers: int | None = Field(description="Number of routers of its nodes; null if unknown.")
    runs: int


class JobList(Page[Job]):
    """A page of jobs."""


class JobOnRouter(BaseModel):
    """A job with nodes on a router."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None


class Neighbour(JobOnRouter):
    """A job that ran at the same time on the same routers or groups."""

    start: datetime
    shared_routers: int
    shared_groups: int
    overlap_s: float


class JobStep(BaseModel):
    """A step of a job."""

    step: str
    name: str | None
    state: str | None
    start: datetime | None
    end: datetime | None
    nodes: int | None
    node_list: str | None


class Plane(BaseModel):
    """A job's part on one of the fabrics that its nodes have endpoints on."""

    fabric_id: int
    fabric: str
    nodes: int
    endpoints: list[int]
    routers: list[int]
    groups: list[int]


class Link(BaseModel):
    """A job's page in another monitor of the site."""

    name: str
    url: str


class JobDetail(JobHead):
    """A job, its nodes on the fabric, and its neighbours."""

    restart: int
    exit_code: str | None
    node_list: str | None
    routers: list[int] = Field(description="On fabric_id, like groups and endpoints.")
    endpoints: list[int]
    planes: list[Plane] = Field(description="All fabrics that its nodes have endpoints on, fabric_id first.")
    steps: list[JobStep]
    neighbours: list[Neighbour]
    runs: list[Run]
    links: list[Link] = Field(description="Links to other monitors of the site, from its settings.")


class JobOnFabric(JobOnRouter):
    """A job on the fabric at a given time."""

    start: datetime | None
    routers: list[int]


class Occupancy(BaseModel):
    """Jobs that occupy routers at a given time; for a snapshot, its own jobs."""

    at: datetime | None
    nodes_held: int = Field(
        description="Nodes in use, each counted once. Two jobs on one node both count in `jobs`, for example while the end of "
        "the first is not reported yet."
    )
    jobs: list[JobOnFabric]


MOST_NEIGHBOURS = 50
MOST_HOLDERS = 5_000


def read_sort(text: str) -> tuple[str, bool]:
    """Return the column and whether the order is descending, from text such as `nodes` or `-start`. Raise BadRequest for other columns."""
    name = text.removeprefix("-")
    if name not in reads.SORTS:
        raise BadRequest(
            f"jobs cannot be sorted by {name[:40]!r}",
            advice=f"Sort by {', '.join(reads.SORTS)}, with a minus for descending order.",
        )
    return name, text.startswith("-")


async def list_jobs(
    conn: Connection, names: Names, sort: str, limit: int, cursor: str | None, **filters: Any
) -> JobList:
    """Return a page of jobs and the cursor of the next page."""
    name, descending = read_sort(sort)
    now, after = datetime.now(UTC), None
    if cursor:
        # The time "now" for running jobs is that of the first page, so that the order is stable.
        cursor_sort, key, number, asked_at = read_cursor(cursor, str, str, int, float)
        if cursor_sort != sort or not 0 <= asked_at < 1 << 32:
            raise BadRequest("the cursor belongs to another sort order", advice="Start again without a cursor.")
        now, after = at_moment(asked_at), (key, number)
    rows = await reads.list_jobs(
        conn,
        sort=name,
        descending=descending,
        limit=limit + 1,
        now=now,
        after=after,
        shown=names.for_database(),
        **filters,
    )
    more, rows = len(rows) > limit, rows[:limit]
    places = await reads.load_places(conn, [row["job_pk"] for row in rows], filters.get("fabric_id")) if rows else {}
    next_cursor = make_cursor(sort, rows[-1]["sort_key"], rows[-1]["job_pk"], now.timestamp()) if more else None
    items = [_list_item(row, places[row["job_pk"]]) for row in rows]
    return build_model(JobList, items=items, next_cursor=next_cursor)


def _list_item(row: reads.Row, place: reads.Row) -> Job:
    head = {key: value for key, value in row.items() if key not in ("sort_key", "restart", "exit_code")}
    routers = len(place["routers"]) if place["fabric_id"] is not None else None
    return build_model(
        Job, head, groups=place["groups"], fabric_id=place["fabric_id"], routers=routers, runs=place["runs"]
    )


async def load_job_detail(
    conn: Connection, names: Names, links: Sequence[JobLink], job_id: str, cluster: str | None
) -> JobDetail:
    """Return one job with its position, neighbours, steps and runs. Raise NotFound."""
    now = datetime.now(UTC)
    row = await reads.find_job(conn, job_id, cluster, now)
    if row is None:
        raise NotFound(
            f"there is no job {job_id[:60]!r}" + (f" of cluster {cluster[:60]!r}" if cluster else ""),
            advice="Write the id as the scheduler prints it (42, 3_4, 10+1, 13.server); /api/v1/jobs?q= finds jobs with a part of the id.",
        )
    number = row["job_pk"]
    place = (await reads.load_places(conn, [number]))[number]
    fabric_id = place["fabric_id"]
    planes = await reads.list_planes(conn, number)
    near = await reads.list_neighbours(conn, number, now, MOST_NEIGHBOURS) if planes and row["start"] else []
    steps = await reads.list_steps(conn, number)
    if names.job(row) is not row:
        steps = [names.job(step) for step in steps]
    return build_model(
        JobDetail,
        names.job(row),
        groups=place["groups"],
        fabric_id=fabric_id,
        routers=place["routers"],
        endpoints=planes[0]["endpoints"] if planes else [],
        planes=[build_model(Plane, plane) for plane in planes],
        steps=[build_model(JobStep, step) for step in steps],
        neighbours=[build_model(Neighbour, names.job(other)) for other in near],
        runs=[run_item(run, names) for run in await runs.of_job(conn, number)],
        links=[
            build_model(Link, name=link.name, url=url)
            for link in links
            if (url := link.of(row["job_id"], row["cluster"])) is not None
        ],
    )


def run_item(row: runs.Row, names: Names) -> Run:
    """Return a run as shown in responses."""
    shown = {key: value for key, value in row.items() if key != "counter_names"}
    return build_model(Run, shown, exe=names.path(shown["exe"]))


async def list_holders(
    conn: Connection, names: Names, topology: Topology, at_s: float | None, router: int | None = None
) -> list[JobOnFabric]:
    """Return the jobs on a fabric at a time; for a snapshot, its own jobs; none if the time is unknown."""
    if topology.head.snapshot:
        rows = await reads.list_holding_jobs(conn, topology.head.fabric_id, None, MOST_HOLDERS, router)
    elif at_s is None:
        return []
    else:
        rows = await reads.list_holding_jobs(conn, topology.head.fabric_id, at_moment(at_s), MOST_HOLDERS, router)
    return [build_model(JobOnFabric, names.job(row)) for row in rows]
