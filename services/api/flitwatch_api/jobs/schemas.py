"""Response models for jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from flitwatch_api.runs.schemas import Run


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


class JobList(BaseModel):
    """A page of jobs."""

    items: list[Job]
    next_cursor: str | None


class Neighbour(BaseModel):
    """A job that ran at the same time on the same routers or groups."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
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


class JobOnFabric(BaseModel):
    """A job on the fabric at a given time."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
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
