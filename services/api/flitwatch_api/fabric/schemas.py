"""Response models for fabrics."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field


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
    complete_through: datetime | None = Field(description="Time up to which rows are complete.")


class FabricList(BaseModel):
    """All fabrics."""

    items: list[Fabric]
    next_cursor: str | None


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


class JobOnRouter(BaseModel):
    """A job with nodes on a router."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None


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
