"""Shapes of answers about incidents."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from flitwatch_domain.explanation.result import CarryingLink, Remedy
from flitwatch_domain.incidents import SlowedJob

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
        description="0 to 1: how much of the waiting comes with its traffic; null where only times and places name it."
    )


class IncidentHead(BaseModel):
    """One incident: the jobs that kept links congested, and what that cost."""

    incident_id: int
    fabric: str
    simulated: bool
    state: Literal["open", "over", "withdrawn"] = Field(
        description="Withdrawn: the whole run of the slowed job does not confirm what was said while it ran."
    )
    began: datetime
    ended: datetime | None = Field(description="Null while it is open.")
    title: str
    causes: list[IncidentCause] = Field(description="The largest part first.")
    worst: str | None = Field(description="The slowed job that lost most; null: none is left.")
    slowed: int = Field(description="Jobs that it slowed, those that ended or recovered among them.")
    slow_now: int = Field(description="Jobs that it slows now.")
    lost_s: float = Field(description="Seconds that the slowed jobs lost, all together.")
    node_hours: float = Field(description="The same, times the nodes of each.")
    node_hours_low: float = Field(description="95 % interval.")
    node_hours_high: float


class IncidentList(BaseModel):
    """A page of incidents."""

    items: list[IncidentHead]
    next_cursor: str | None


class IncidentMinute(BaseModel):
    """A minute of an incident."""

    at: datetime = Field(description="Its beginning.")
    waiting: float = Field(description="Stall cycles a flit, on the way of the job that lost most.")
    part: float | None = Field(description="0 to 1: the causes' part of the traffic where it waits; null: not known.")


class IncidentAlert(BaseModel):
    """An alert of an incident."""

    alert_id: int
    rule: str
    phase: Literal["pending", "firing", "resolved"]
    fired_at: datetime | None
    resolved_at: datetime | None
    delivered: int = Field(description="Messages that receivers took.")


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
    quiet: float | None = Field(description="Stall cycles a flit on that way in a quiet minute; null: not known.")
    links: list[CarryingLink] = Field(description="The hottest first.")
    victims: list[SlowedJob] = Field(description="Those that waste most nodes first.")
    remedies: list[Remedy] = Field(description="Of the job that wastes most nodes.")
    minutes: list[IncidentMinute]
    alerts: list[IncidentAlert]
    notes: list[IncidentNote]
