"""Shapes of answers about runs."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class Run(BaseModel):
    """One execution of an instrumented application."""

    run_id: int
    run_key: str
    job_id: str | None
    exe: str
    start: datetime | None
    ranks: int = Field(description="Ranks that report.")
    nodes: int = Field(description="Nodes of its job, or the ranks that report where the job is not known.")
    steps: int
    time_s: float | None = Field(description="Sum of its steps' times.")
    simulated: bool


class RunList(BaseModel):
    """A page of runs."""

    items: list[Run]
    next_cursor: str | None


class RunSteps(BaseModel):
    """By step."""

    run: Run
    step: list[int]
    time_s: list[float] = Field(description="The slowest rank's time.")
    time_p50_s: list[float | None] = Field(description="The median rank's time.")
    others: int = Field(description="Other runs of the same application on as many nodes, behind the next three.")
    mean_time_s: list[float | None] | None
    p10_s: list[float | None] | None
    p90_s: list[float | None] | None
    counters: dict[str, list[float | None]] | None = Field(
        description="By vendor's name, summed over ranks; null where not recorded."
    )
