"""Shapes of answers about projects."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class ProjectLoss(BaseModel):
    """A job of the project that an incident slowed."""

    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    since: datetime = Field(description="When it began to be slow.")
    factor: float = Field(description="Its time over the usual time.")
    node_hours: float
    node_hours_low: float = Field(description="95 % interval.")
    node_hours_high: float
    slowed_by: list[str] = Field(description="The jobs that are named, with their users as the caller may see them.")
    incident_id: int
    simulated: bool


class ProjectCause(BaseModel):
    """A user whose jobs slowed the project's."""

    user: str
    jobs: int
    node_hours: float = Field(description="Those of a job with several causes are divided evenly.")


class ProjectReport(BaseModel):
    """What a project lost to network congestion in a month."""

    account: str
    month: str
    jobs: list[ProjectLoss] = Field(description="The one that lost most first.")
    causes: list[ProjectCause] = Field(description="The one that cost most first.")
    node_hours: float
    node_hours_low: float = Field(description="95 % interval.")
    node_hours_high: float
