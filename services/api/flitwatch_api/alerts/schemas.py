"""Alerts, rules, silences and dry runs as shown to a caller: below scope `names`, they name no other person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, field_validator

from flitwatch_api.answers import Items, Page
from flitwatch_api.names import Names
from flitwatch_domain.alerts import By, Rule, Severity, Signal, check_silence, read_rule
from flitwatch_domain.errors import BadInput, Forbidden
from flitwatch_domain.mails import Mailbox

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


class AlertList(Page[Alert]):
    """A page of alerts."""


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


class RuleList(Items[StoredRule]):
    """All rules, by name."""


class NewRule(BaseModel, extra="forbid"):
    """A rule without its name. Durations are seconds or text such as `5m`."""

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


class DryRun(BaseModel, extra="forbid"):
    """Request to test the rule of that name, or the given rule, over a period."""

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


class SilenceList(Items[Silence]):
    """Silences, the last to end first."""


class NewSilence(BaseModel, extra="forbid"):
    """Silence to add: the alerts that send no notification, until when, and why."""

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


class ContactList(Items[Contact]):
    """Contact points, by name."""


class NewContact(BaseModel, extra="forbid"):
    """Contact point to save: its mail addresses and the lowest severity that is mailed."""

    addresses: list[Annotated[Mailbox, StringConstraints(max_length=254, pattern=r"^[^\x00]*$")]] = Field(
        min_length=1, max_length=20
    )
    least_severity: Severity = "info"


Row = dict[str, Any]
#: Labels with machine values; other labels can contain names.
OF_MACHINES = frozenset({"fabric", "group", "class", "job", "run", "nodes", "severity", "signal"})
HIDDEN = "..."
FAILED = "the receiver did not accept it"


def _mask_labels(held: dict[str, str], names: Names) -> dict[str, str]:
    shown_labels = dict(held)
    if "user" in shown_labels:
        shown_labels["user"] = names.user(shown_labels["user"])
    if "exe" in shown_labels:
        shown_labels["exe"] = names.path(shown_labels["exe"])
    return shown_labels


def _mask_text(text: str, about: dict[str, str], names: Names) -> str:
    """Return an operator's text without the name of the person whom the rule concerns."""
    user = about.get("user")
    if not user or names.user(user) == user:
        return text
    return re.sub(re.escape(user), names.user(user), text, flags=re.IGNORECASE)


def _fill_template(template: str, labels: dict[str, str], value: float) -> str:
    for name, word in {**labels, "value": f"{value:.3g}"}.items():
        template = template.replace(f"{{{name}}}", word)
    return template


def mask_rule(held: Row, names: Names) -> Row:
    """Return a rule as shown to the caller."""
    if not names.pseudonyms:
        return held
    about = held.get("where") or {}
    labels = {name: _mask_text(word, about, names) for name, word in (held.get("labels") or {}).items()}
    texts: Row = {name: _mask_text(held[name], about, names) for name in ("name", "summary") if name in held}
    return {**held, **texts, "labels": _mask_labels(labels, names), "where": _mask_labels(about, names)}


def mask_alert(row: Row, names: Names) -> Row:
    """Return an alert as shown to the caller. Its text is generated again from the visible labels."""
    template, about = row.pop("template"), row.pop("about") or {}
    if not names.pseudonyms:
        return row
    # A rule's other labels are its author's text, and one of them contains the rule's name.
    labels = {
        name: word if name in ("user", "exe") else _mask_text(word, about, names)
        for name, word in row["labels"].items()
    }
    shown_alert = {**row, "labels": _mask_labels(labels, names), "rule": _mask_text(row["rule"], about, names)}
    if shown_alert["labels"] != row["labels"] or _mask_labels(about, names) != about:
        shown_alert["summary"] = _fill_template(
            _mask_text(template or "{user}: {value}", about, names), shown_alert["labels"], row["value"]
        )
    if (shown_alert.get("evidence") or {}).get("rule"):
        shown_alert["evidence"] = {**shown_alert["evidence"], "rule": mask_rule(shown_alert["evidence"]["rule"], names)}
    return shown_alert


def mask_notices(rows: list[Row], operates: bool) -> list[Row]:
    """Return an alert's notices. Receivers' responses are hidden unless the caller `operates` the site."""
    return rows if operates else [{**row, "error": row["error"] and FAILED} for row in rows]


def mask_contact(row: Row, operates: bool) -> Row:
    """Return a contact point. Its addresses and its mail server's response are hidden unless the caller `operates` the site."""
    return row if operates else {**row, "addresses": None, "test_error": row["test_error"] and FAILED}


def mask_silence(row: Row, names: Names, rules: dict[str, Row]) -> Row:
    """Return a silence with masked matchers and without its comment, which is free text. `rules` contains all rules by name."""
    if not names.pseudonyms:
        return row
    by, shown_matchers = row["created_by"], mask_matchers(row["matchers"], names, rules)
    return {**row, "matchers": shown_matchers, "comment": None, "created_by": names.author(by)}


def mask_matchers(
    held: Mapping[str, str], names: Names, rules: dict[str, Row], *, hidden: bool = True
) -> dict[str, str]:
    """Return a silence's matchers as shown with pseudonyms. Values that may name a user are shown only if `hidden` is false."""
    shown_matchers = {}
    for name, word in held.items():
        if name in OF_MACHINES:
            shown_matchers[name] = word
        elif name == "rule" and word in rules:
            shown_matchers[name] = _mask_text(word, rules[word].get("where") or {}, names)
        elif name in ("user", "exe") and word[:1] != "/":
            shown_matchers.update(_mask_labels({name: word}, names))
        else:
            shown_matchers[name] = HIDDEN if hidden else word
    return shown_matchers


def check_written(new: Row, as_shown: Row, names: Names) -> None:
    """Refuse text that a caller below scope `names` would see altered: the alteration would reveal whom a pseudonym stands for. Raise Forbidden."""
    if names.pseudonyms and new != as_shown:
        raise Forbidden(
            "a rule or silence that names another person, or an executable with its path, requires scope names",
            advice="Use your own name, leave the user out, or ask an operator.",
        )


def check_tried(tried: Any, names: Names) -> None:
    """Refuse to test a rule about one person for a caller who sees pseudonyms: the result would reveal whom a pseudonym stands for. Raise BadInput if
    the input is not a rule. Raise Forbidden."""
    if names.pseudonyms and _about_others(read_rule(tried), names):
        raise Forbidden(
            "testing a rule about one person, or an executable with its path, requires scope names",
            advice="Leave `user` out of `where`, or ask an operator.",
        )


def _about_others(tried: Rule, names: Names) -> bool:
    user, exe = tried.where.get("user"), tried.where.get("exe")
    return (user is not None and user != names.own) or (exe is not None and "/" in exe)


def dry_run(row: Row, names: Names) -> Row:
    """Return a caller's own task `alerting.test`: their own text unchanged, and names in the result as shown to them."""
    if not names.pseudonyms:
        return row
    try:
        tried = read_rule((row["args"] or {}).get("rule"))
    except BadInput:
        return {**row, "result": None}
    if _about_others(tried, names):
        return {**row, "args": None, "result": None, "error": None}
    result = row["result"]
    if isinstance(result, dict):
        result = {**result, "alerts": [_mask_dry_alert(alert, tried, names) for alert in result.get("alerts", [])]}
    return {**row, "result": result}


def _mask_dry_alert(one: Row, tried: Rule, names: Names) -> Row:
    template, series_labels = (
        tried.summary,
        {name: word for name, word in one["labels"].items() if name not in tried.labels},
    )
    labels = {**one["labels"], **_mask_labels(series_labels, names)}
    if labels == one["labels"]:
        return one
    # A result of an older version lacks the value, so its text cannot be generated again.
    value = one.get("value")
    text = "" if value is None else _fill_template(template or "{user}: {value}", labels, value)
    return {**one, "labels": labels, "summary": text}
