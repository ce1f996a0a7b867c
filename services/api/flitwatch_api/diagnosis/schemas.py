"""Answers about the roots of congestion."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field


class DiagnosedLink(BaseModel):
    """A directed link with what was measured of it; null: not measured."""

    link: int
    link_class: str
    src: int = Field(description="Vertex that sends: a router, or the number of routers plus an endpoint.")
    src_name: str
    dst: int
    dst_name: str
    utilisation: float | None = Field(
        description="Part of the capacity that was used; of samples by the job's own packets alone."
    )
    stalls_per_flit: float | None
    congested_fraction: float | None = Field(
        description="Part of the job's sampled packets that found the link congested."
    )


class VictimLink(DiagnosedLink):
    """A link whose traffic waits behind a root."""

    behind: int = Field(description="The link that it waits for.")
    distance: int = Field(description="Links from the root.")


class Feeder(BaseModel):
    """A job that feeds a root."""

    job_pk: int
    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    share: float | None = Field(
        description="Estimated part of what the link carried; null for the job that holds the node at its end."
    )


class CongestionRoot(DiagnosedLink):
    """A link at which congestion begins."""

    cause: Literal[
        "full-link",
        "full-endpoint",
        "slow-endpoint",
        "communication-pattern",
        "mapping-or-bandwidth",
        "static-routes",
        "background-traffic",
    ] = Field(description="The first three by counters of ports, the others by packet samples.")
    confidence: float | None = Field(description="0.5 to 1, by counters of ports; null by packet samples.")
    advice: str
    victims: list[VictimLink] = Field(description="Its tree, the nearest first.")
    victims_total: int
    jobs: list[Feeder] = Field(description="The largest share first.")
    jobs_unknown_because: str | None = Field(description="Why no job is named; null where one is.")


class RootsOfCongestion(BaseModel):
    """Roots of congestion in a window, or that there are none, or why that is unknown."""

    fabric_id: int | None
    from_: datetime | None = Field(alias="from")
    to: datetime | None
    method: Literal["ports", "samples"] = Field(
        description="What it rests on: counters of ports, or the job's packet samples."
    )
    verdict: Literal["named", "none", "cannot tell"]
    reasons: list[str] = Field(description="Why stalls are left that no root explains.")
    roots: list[CongestionRoot] = Field(description="Those behind which most waits first.")
    links_counted: int
    links_stalled: int = Field(description="Stalled links; by samples, congested ones.")
    links_explained: int = Field(description="Those of them that wait behind a root.")
    simulated: bool
