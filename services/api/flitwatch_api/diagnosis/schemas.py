"""Answers about the roots of congestion."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field


class DiagnosedLink(BaseModel):
    """A directed link with what was measured of it; null: not measured."""

    link: int
    link_class: str
    src: int = Field(description="Sending vertex: a router, or the number of routers plus an endpoint.")
    src_name: str
    dst: int
    dst_name: str
    utilisation: float | None = Field(
        description="Used share of the capacity; for samples, the use by the job's own packets."
    )
    stalls_per_flit: float | None
    congested_fraction: float | None = Field(
        description="Share of the job's sampled packets that found the link congested."
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
        description="Estimated share of the link's traffic; null for the job on the node at its end."
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
    ] = Field(description="The first three are from port counters, the others from packet samples.")
    confidence: float | None = Field(description="0.5 to 1 with port counters; null with packet samples.")
    advice: str
    victims: list[VictimLink] = Field(description="Links of its tree, nearest first.")
    victims_total: int
    jobs: list[Feeder] = Field(description="Largest share first.")
    jobs_unknown_because: str | None = Field(description="Why no job is named; null if one is named.")


class RootsOfCongestion(BaseModel):
    """Roots of congestion in a window, or that there are none, or why that is unknown."""

    fabric_id: int | None
    from_: datetime | None = Field(alias="from")
    to: datetime | None
    method: Literal["ports", "samples"] = Field(
        description="Source of the answer: port counters, or the job's packet samples."
    )
    verdict: Literal["named", "none", "cannot tell"]
    reasons: list[str] = Field(description="Why some stalls have no root.")
    roots: list[CongestionRoot] = Field(description="Roots, those with most waiting links first.")
    links_counted: int
    links_stalled: int = Field(description="Stalled links, or congested links with samples.")
    links_explained: int = Field(description="Stalled links that wait behind a root.")
    simulated: bool
