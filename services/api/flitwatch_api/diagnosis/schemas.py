"""Response models for the roots of congestion."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from flitwatch_domain.diagnosis.roots import CongestionRoot, DiagnosedLink, Ruling


class RootsOfCongestion(BaseModel):
    """Roots of congestion in a window, or why they are unknown."""

    fabric_id: int | None
    from_: datetime | None = Field(alias="from")
    to: datetime | None
    method: Literal["ports", "samples"] = Field(
        description="Source of the answer: port counters, or the job's packet samples."
    )
    verdict: Literal["named", "none", "cannot tell"]
    reasons: list[str] = Field(description="Why some stalls have no root.")
    roots: list[CongestionRoot] = Field(description="Roots, most waiting links first.")
    worst_path: list[DiagnosedLink] = Field(
        description="From the farthest link that waits behind the first root to this root, in the direction of traffic."
    )
    rulings: list[Ruling] = Field(description="Causes that this method can find, and whether the window shows them.")
    links_counted: int
    links_stalled: int = Field(description="Stalled links, or congested links with samples.")
    links_explained: int = Field(description="Stalled links that wait behind a root.")
    simulated: bool
