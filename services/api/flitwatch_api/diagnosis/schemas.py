"""Answers about the roots of congestion."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from flitwatch_domain.diagnosis.roots import CongestionRoot


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
