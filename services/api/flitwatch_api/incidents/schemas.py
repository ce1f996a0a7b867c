"""Shapes of answers about incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from flitwatch_api.explanation.schemas import CarryingLink, Remedy, SlowJob

#: What steers a terminal, letters of no width, and marks that turn the direction of text are refused.
NoteText = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=2000,
        strip_whitespace=True,
        pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$",
    ),
]


class IncidentCause(BaseModel):
    """A job that is named for an incident."""

    job_pk: int
    job_id: str
    user: str | None
    account: str | None
    name: str | None
    nodes: int | None
    simulated: bool
    start: datetime | None
    end: datetime | None
    part: float | None = Field(
        description="0 to 1: share of the waiting that is due to its traffic; null if it is named only from times and places."
    )


class IncidentHead(BaseModel):
    """One incident: the jobs that kept links congested, and what that cost."""

    incident_id: int
    fabric: str
    simulated: bool
    state: Literal["open", "over", "withdrawn"] = Field(
        description="Withdrawn: the whole run of the slowed job does not confirm the verdict made while it ran."
    )
    began: datetime
    ended: datetime | None = Field(description="Null while it is open.")
    title: str
    causes: list[IncidentCause] = Field(description="Largest share first.")
    worst: str | None = Field(description="The slowed job that lost most; null: none.")
    slowed: int = Field(description="Jobs that it slowed, including those that ended or recovered.")
    slow_now: int = Field(description="Jobs that it slows now.")
    lost_s: float = Field(description="Total seconds that the slowed jobs lost.")
    node_hours: float = Field(description="The loss of each job times its nodes, summed.")
    node_hours_low: float = Field(description="95 % interval.")
    node_hours_high: float


class IncidentList(BaseModel):
    """A page of incidents."""

    items: list[IncidentHead]
    next_cursor: str | None


class SlowedJob(SlowJob):
    """A job that an incident slowed."""

    lost_low_s: float = Field(description="95 % interval of lost_s.")
    lost_high_s: float
    named: list[str] = Field(description="The named causes, largest share first.")


class IncidentMinute(BaseModel):
    """A minute of an incident."""

    at: datetime = Field(description="Its start.")
    waiting: float = Field(description="Stall cycles per flit on the path of the job that lost most.")
    part: float | None = Field(description="0 to 1: the causes' share of the traffic where it waits; null: unknown.")


class IncidentAlert(BaseModel):
    """An alert of an incident."""

    alert_id: int
    rule: str
    phase: Literal["pending", "firing", "resolved"]
    fired_at: datetime | None
    resolved_at: datetime | None
    delivered: int = Field(description="Messages that receivers accepted.")


class IncidentNote(BaseModel):
    """A note on what was done about an incident."""

    note_id: int
    at: datetime
    author: str
    text: str


class NewIncidentNote(BaseModel):
    """A note to be kept with an incident."""

    text: NoteText


class IncidentDetail(IncidentHead):
    """An incident with all that is known of it."""

    detail: str
    quiet: float | None = Field(description="Stall cycles per flit on that path in a quiet minute; null: unknown.")
    links: list[CarryingLink] = Field(description="Hottest first.")
    victims: list[SlowedJob] = Field(description="Jobs with most wasted nodes first.")
    remedies: list[Remedy] = Field(description="For the job with most wasted nodes.")
    minutes: list[IncidentMinute]
    alerts: list[IncidentAlert]
    notes: list[IncidentNote]
