"""Response models for projects."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class ProjectLoss(BaseModel):
    """A job of the project that an incident slowed."""

    job_id: str
    user: str | None
    name: str | None
    nodes: int | None
    since: datetime = Field(description="When it became slow.")
    factor: float = Field(description="Its time divided by the usual time.")
    node_hours: float | None = Field(description="Null: the number of nodes of a job is unknown.")
    node_hours_low: float | None = Field(description="95 % interval.")
    node_hours_high: float | None
    slowed_by: list[str] = Field(
        description="Jobs that are named as causes, with their users as the caller may see them."
    )
    incident_id: int
    simulated: bool


class ProjectCause(BaseModel):
    """A user whose jobs slowed jobs of the project."""

    user: str
    jobs: int
    node_hours: float | None = Field(
        description="The node-hours of a job with several causes are divided evenly; null: the number of nodes of a job is unknown."
    )


class ProjectReport(BaseModel):
    """Losses of a project to network congestion in a month."""

    account: str
    month: str
    jobs: list[ProjectLoss] = Field(description="The job that lost most comes first.")
    causes: list[ProjectCause] = Field(description="The user that cost most comes first.")
    node_hours: float | None = Field(description="Null: the number of nodes of a job is unknown.")
    node_hours_low: float | None = Field(description="95 % interval.")
    node_hours_high: float | None
