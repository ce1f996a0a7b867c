"""Response model for a job's own counters; `flitwatch_domain.explanation.result` has those of explanations and incidents."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class JobPart(BaseModel):
    """A figure of a job's own parts over time."""

    key: str
    label: str
    unit: str = Field(description="According to the catalogue of counters.")
    values: list[float | None] = Field(description="One value per step; null is unknown.")


class JobCounters(BaseModel):
    """Counters of a job's own network cards and links; figures without a counter are omitted."""

    ts: list[datetime] = Field(description="Start of each step.")
    step_s: int
    parts: list[JobPart]
