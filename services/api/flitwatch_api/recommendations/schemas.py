"""Response models for recommendations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


class RecommendationGain(BaseModel):
    """Expected speed-up: time before divided by time after."""

    factor: float
    low: float | None
    high: float | None
    level: float
    runs: int = Field(description="Simulated pairs, or comparable runs.")
    basis: str = Field(description="Basis of the comparison.")


class Recommendation(BaseModel):
    """Result of the loop or the routing advice: found, recommended or refused."""

    recommendation_id: int
    kind: Literal["routes", "routing_mode", "placement"]
    state: Literal["recommended", "refused"]
    created: datetime
    task_id: int | None
    fabric_id: int | None
    fabric: str | None
    job_id: str | None
    user: str | None
    application: str | None
    title: str
    reason: str
    gain: RecommendationGain | None
    environment: str | None = Field(description="Line for the job's environment, such as MPICH_GNI_ROUTING_MODE=...")
    has_lfts: bool
    has_matrix: bool
    has_links: bool
    simulated: bool
    created_by: str | None = Field(description="Author of its task; null: unknown.")
    authorised: bool = Field(
        description="Whether its author may change advice for the site. Otherwise it is only a what-if."
    )
    figures: Literal["given", "simulated", "counted"] = Field(
        description="Source of its figures: observations from its author, a simulation, or counters in the database."
    )


class RecommendationList(BaseModel):
    """A page of recommendations."""

    items: list[Recommendation]
    next_cursor: str | None


class Finding(BaseModel):
    """One finding."""

    text: str
    value: float | None
    unit: str | None


class RouteOutcome(BaseModel):
    """Outcome before or after the change."""

    time_s: float | None
    max_load_bytes: float | None
    congested_links: int | None
    label: str


class Alternative(BaseModel):
    """An alternative that was compared."""

    label: str
    time_s: float | None


class Reconstruction(BaseModel):
    """Reconstruction of the traffic matrix."""

    basis: str
    relative_error: float | None = Field(description="Known only for simulated traffic.")
    estimated_error: float | None
    residual: float | None
    iterations: int | None
    converged: bool | None
    wall_s: float | None


class Tables(BaseModel):
    """Quality of the forwarding tables, and their changes."""

    true_gap: float | None
    ftree_gap: float | None
    z_ar_bytes: float | None
    entries_changed: int | None
    entries: int | None


class RecommendationDetail(Recommendation):
    """A recommendation with its evidence."""

    why: list[Finding]
    before: RouteOutcome | None
    after: RouteOutcome | None
    alternatives: list[Alternative]
    reconstruction: Reconstruction | None
    routes: Tables | None
    parameters: dict[str, Any]


class TrafficMatrix(BaseModel):
    """Bytes from sender (column) to receiver (row); null if unknown or not asked for."""

    by: Literal["router", "group"]
    labels: list[str]
    true: list[list[float | None]] | None
    reconstructed: list[list[float | None]] | None
    difference: list[list[float | None]] | None


class Carried(BaseModel):
    """Traffic carried, by link."""

    traffic_bytes: list[float | None]
    congested: list[float | None] = Field(description="Congested fraction, 0 to 1.")


class BeforeAfterLinks(BaseModel):
    """Inter-switch links of the simulated fabric before and after, by column."""

    link: list[int]
    src: list[int]
    dst: list[int]
    class_: list[str] = Field(alias="class")
    router: list[int]
    name: list[str]
    level: list[int | None]
    group: list[int | None]
    nodes: list[int]
    before: Carried
    after: Carried
