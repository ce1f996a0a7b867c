"""Response models for alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from flitwatch_domain.alerts import By, Severity, Signal, check_silence
from flitwatch_domain.mailbox import Mailbox

Word = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]{0,39}$")]
Value = Annotated[str, StringConstraints(max_length=400, pattern=r"^[^\x00]*$")]
Duration = float | Annotated[str, StringConstraints(max_length=20)]


class Alert(BaseModel):
    """An alert: a series of a rule's signal beyond its threshold."""

    alert_id: int
    rule: str
    labels: dict[str, str]
    phase: Literal["pending", "firing", "resolved"]
    severity: str
    since: datetime = Field(description="Start of this phase.")
    seen: datetime = Field(description="Time of the newest sample.")
    fired_at: datetime | None
    resolved_at: datetime | None
    value: float
    peak: float
    probability: float | None = Field(
        description="Probability that the value is at or above the threshold; null for measured values."
    )
    summary: str
    simulated: bool
    page: str | None = Field(description="Path of the page about the alert, at that time.")


class AlertList(BaseModel):
    """A page of alerts."""

    items: list[Alert]
    next_cursor: str | None


class Notice(BaseModel):
    """A notification to a receiver."""

    receiver: str
    status: Literal["firing", "resolved"]
    turn: int = Field(description="Number of the repetition, from 0.")
    created: datetime
    delivered: datetime | None
    attempts: int
    tried: datetime | None = Field(description="Time of the last attempt.")
    error: str | None = Field(description="Why the last attempt failed. Below scope operate, only the fact.")


class AlertDetail(Alert):
    """An alert with its evidence at the time when it began to fire."""

    evidence: dict[str, Any]
    notices: list[Notice]


class StoredRule(BaseModel):
    """A rule and how far it has been evaluated."""

    rule: dict[str, Any] = Field(description="Fields as in PUT /alerts/rules/{name}, durations in seconds.")
    source: Literal["file", "api"]
    updated: datetime
    through: datetime | None


class RuleList(BaseModel):
    """All rules, by name."""

    items: list[StoredRule]


class NewRule(BaseModel):
    """A rule without its name. Durations are seconds or text such as `5m`."""

    model_config = ConfigDict(extra="forbid")

    signal: Signal
    above: float
    clear: float | None = None
    probability: float | None = Field(default=None, ge=0, le=1)
    for_: Duration = Field(default=0.0, alias="for")
    every: Duration = 60.0
    absent: Duration = 600.0
    by: By = "group"
    where: dict[Word, Value] = Field(
        default={}, max_length=20, description="Only series with these labels of the signal."
    )
    congested_at: float = Field(default=1.0, gt=0)
    severity: Severity = "warning"
    summary: Value = ""
    labels: dict[Word, Value] = Field(
        default={}, max_length=20, description="Additional labels of its alerts, for receivers and silences."
    )
    enabled: bool = True


class DryRun(BaseModel):
    """Request to test the rule of that name, or the given rule, over a period."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, max_length=80)
    rule: NewRule | None = None
    from_: datetime = Field(alias="from")
    to: datetime


class Silence(BaseModel):
    """Matching alerts send no notifications while the silence is active."""

    silence_id: int
    matchers: dict[str, str]
    starts: datetime
    ends: datetime
    comment: str | None = Field(description="Null below scope names, because it is free text.")
    created_by: str
    created: datetime
    active: bool


class SilenceList(BaseModel):
    """Silences, the last to end first."""

    items: list[Silence]


class NewSilence(BaseModel):
    """Silence to add: the alerts that send no notification, until when, and why."""

    model_config = ConfigDict(extra="forbid")

    matchers: dict[Word, Value] = Field(
        min_length=1, max_length=20, description="Label to value, or to /regular expression/; all must match."
    )
    starts: datetime | None = Field(default=None, description="Default: now.")
    ends: datetime
    comment: str = Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")

    @field_validator("matchers")
    @classmethod
    def _check_expressions(cls, value: dict[str, str]) -> dict[str, str]:
        check_silence(value)
        return value


class Contact(BaseModel):
    """A contact point: mail addresses for alerts."""

    name: str
    addresses: list[str] | None = Field(description="Null below scope operate.")
    least_severity: Severity = Field(description="Lowest severity to send to this address.")
    updated: datetime
    test_asked_at: datetime | None = Field(description="When the last test mail was requested.")
    test_tried_at: datetime | None = Field(
        description="When the engine last sent one. If this is before `test_asked_at`, a test mail is waiting."
    )
    test_error: str | None = Field(
        description="Why the last test mail was not sent. Below scope operate, only the fact."
    )


class ContactList(BaseModel):
    """Contact points, by name."""

    items: list[Contact]


class NewContact(BaseModel):
    """Contact point to save: its mail addresses and the lowest severity that is mailed."""

    model_config = ConfigDict(extra="forbid")

    addresses: list[Annotated[Mailbox, StringConstraints(max_length=254, pattern=r"^[^\x00]*$")]] = Field(
        min_length=1, max_length=20
    )
    least_severity: Severity = "info"
