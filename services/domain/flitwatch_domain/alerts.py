"""Alert rules as data: the watched signal, the conditions to fire and clear, and the state machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import re2
from pydantic import BaseModel, Field, StringConstraints, ValidationError, field_validator, model_validator

from flitwatch_domain.errors import BadInput

#: Signals that a rule can watch. docs/contracts/alerts.md lists the values and labels of each.
Signal = Literal[
    "incident",
    "slowdown",
    "stall_ratio",
    "congested_routers",
    "root",
    "blamed_user",
    "forecast_drift",
    "ingest_gap",
    "counter_silence",
    "slow_cable",
    "flapping_cable",
]
Severity = Literal["info", "warning", "critical"]
By = Literal["machine", "group", "class"]

_DURATION = re.compile(r"([0-9]{1,7}(?:\.[0-9]{1,3})?)(s|m|h|d)?")
_UNIT_S = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
#: Largest threshold: a larger double does not represent every integer.
MOST = 1e15
LONGEST_S = 31 * 86_400.0
#: Limits of a matcher's program. With 11,000 steps, from `(\\w?){1000}`, a label of 400 letters took 60 ms; the engine matches each alert with each silence.
_MOST_STEPS, _MOST_MEMORY = 2000, 1 << 20
#: Advice for expressions that RE2 rejects, keyed by its error message.
_INSTEAD = {
    "invalid perl operator: (?": "lookahead and lookbehind are not supported: match the whole value, or add a second matcher",
    "invalid escape sequence: \\": "back-references are not supported: list the alternatives, as in aa|bb",
    "bad repetition operator": "possessive quantifiers are not supported: write a single + or *",
    "invalid repetition size": "repeat at most 1000 times, or write + or *",
    "pattern too large": "repeat fewer times, or write + or *",
}
#: Syntax that RE2 accepts and Go's regexp, used by Alertmanager, rejects: any single byte, another spelling of named groups, quoted text without end.
#: Quoted text, escapes and classes are skipped as a whole.
_TOKEN = re.compile(
    r"\\Q.*?(?:\\E|(?P<open>\Z))|(?P<byte>\\C)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?P?<(?P<name>\w+)>",
    re.DOTALL,
)
#: Text that JSON and the database accept: no NUL, and no lone surrogate (a constraint of the string type).
Text = Annotated[str, StringConstraints(max_length=400, pattern=r"^[^\x00]*$")]
#: Labels that every alert has in addition to those of its series.
OWN = ("rule", "severity", "signal")
_LABELS: dict[Signal, tuple[str, ...]] = {
    "slowdown": ("run", "job", "exe", "user"),
    "stall_ratio": ("fabric",),
    "congested_routers": ("fabric",),
    "root": ("fabric", "root", "job"),
    "blamed_user": ("user", "exe"),
    "forecast_drift": ("exe", "nodes"),
    "ingest_gap": ("fabric",),
    "counter_silence": ("fabric",),
    "slow_cable": ("fabric", "cable"),
    "flapping_cable": ("fabric", "cable"),
    "incident": ("fabric", "incident"),
}
_BY: dict[By, tuple[str, ...]] = {"machine": (), "group": ("group",), "class": ("class",)}
#: Signals whose values refer to the unit in `by`.
COUNTED = ("stall_ratio", "congested_routers")
#: Signals that wait until the writer reports that counters are complete.
OF_COUNTERS = (*COUNTED, "root")
#: Labels of every signal.
SERIES_LABELS = tuple(dict.fromkeys(name for names in (*_LABELS.values(), *_BY.values()) for name in names))


def parse_duration_s(value: object) -> float:
    """Convert `90`, `90s`, `5m`, `1h` or `2d` to seconds; ValueError otherwise."""
    match = _DURATION.fullmatch(str(value).strip())
    if isinstance(value, bool) or match is None:
        raise ValueError("write a duration as 90s, 5m, 1h or 2d")
    duration_s = float(match.group(1)) * _UNIT_S[match.group(2)]
    if duration_s > LONGEST_S:
        raise ValueError("a duration must be at most 31 days")
    return duration_s


class Rule(BaseModel, extra="forbid", populate_by_name=True, frozen=True):
    """One rule.

    A series of the signal (one set of labels) fires once its value has been at or above `above` for `for_s`. If the signal has a probability, this must
    also be at or above `probability`. The series clears when the value is below `clear` (hysteresis), or after no sample for `absent_s`.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    signal: Signal
    above: float = Field(ge=-MOST, le=MOST, allow_inf_nan=False, description="Fires at or above this value.")
    clear: float | None = Field(
        default=None, ge=-MOST, le=MOST, allow_inf_nan=False, description="Clears below this value; by default `above`."
    )
    probability: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Smallest probability that the value is at or above `above` (signal slowdown).",
    )
    for_s: float = Field(
        default=0.0,
        ge=0,
        le=LONGEST_S,
        alias="for",
        description="How long the value must stay there, in seconds or as `5m`.",
    )
    every_s: float = Field(default=60.0, ge=10, le=86_400, alias="every", description="Step of evaluation.")
    absent_s: float = Field(
        default=600.0,
        ge=10,
        le=LONGEST_S,
        alias="absent",
        description="A series without samples for this long has ended.",
    )
    by: By = Field(default="group", description="Scope of a counter value.")
    where: dict[str, Text] = Field(default_factory=dict, description="Only series with these labels.")
    congested_at: float = Field(
        default=1.0,
        gt=0,
        le=MOST,
        allow_inf_nan=False,
        description="Stalls per flit at which a router counts as congested.",
    )
    severity: Severity = "warning"
    summary: Text = Field(
        default="",
        description="Can contain labels in braces and {value}; {title} for signal incident, {condition} for slow_cable and flapping_cable.",
    )
    labels: dict[str, Text] = Field(default_factory=dict, description="Additional labels of its alerts.")
    enabled: bool = True

    @field_validator("for_s", "every_s", "absent_s", mode="before")
    @classmethod
    def _parse_duration(cls, value: object) -> float:
        return parse_duration_s(value)

    @field_validator("where", "labels")
    @classmethod
    def _check_labels(cls, value: dict[str, str]) -> dict[str, str]:
        if len(value) > 20 or any(not re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", name) for name in value):
            raise ValueError("use at most 20 labels of a-z, 0-9 and _, with values of at most 400 characters")
        return value

    @model_validator(mode="after")
    def _check_consistency(self) -> Rule:
        if self.clear is not None and self.clear > self.above:
            raise ValueError("`clear` is at or below `above`, or an alert would end when it starts")
        if self.probability is not None and self.signal != "slowdown":
            raise ValueError("only the signal slowdown has a probability")
        unknown = [name for name in self.where if name not in self.series_labels]
        if unknown:
            raise ValueError(f"`where` names {', '.join(unknown)}; {self._describe_labels()}")
        conflicts = [name for name in self.labels if name in (*self.series_labels, *OWN, "alertname")]
        if conflicts:
            raise ValueError(
                f"`labels` names {', '.join(conflicts)}, which the alert already has; {self._describe_labels()}"
            )
        return self

    def _describe_labels(self) -> str:
        return f"the labels of {self.signal} are {', '.join(self.series_labels)}"

    @property
    def series_labels(self) -> tuple[str, ...]:
        """Return the labels of the signal's series."""
        return _LABELS[self.signal] + (_BY[self.by] if self.signal in COUNTED else ())

    @property
    def clears_below(self) -> float:
        """Return the lower threshold."""
        return self.above if self.clear is None else self.clear

    def described(self, sample: Sample) -> str:
        """Return the summary of one series."""
        text = self.summary or f"{self.signal} is {{value}} (at or above {self.above:g})"
        for name, word in {**dict(sample.labels), **sample.words, "value": f"{sample.value:.3g}"}.items():
            text = text.replace(f"{{{name}}}", word)
        return text


def read_rule(value: object, where: str = "rule") -> Rule:
    """Parse a rule from plain data; BadInput names the field."""
    try:
        return Rule.model_validate(value)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(
            f"{place or 'the rule'}: {first['msg']}", where=where, advice="docs/contracts/alerts.md lists the fields."
        ) from None


@dataclass(frozen=True, slots=True)
class Sample:
    """A series' value at one moment.

    Attributes
    ----------
    at_s : float                 epoch seconds: end of the data used
    labels : tuple of (name, value), sorted
    probability : float or None  probability that the value is at or above the rule's threshold, if the signal predicts
    evidence : dict              source of the value: numbers and page addresses
    words : mapping              further values for the summary, in addition to its labels
    """

    at_s: float
    labels: tuple[tuple[str, str], ...]
    value: float
    probability: float | None = None
    evidence: Any = None
    words: Mapping[str, str] = field(default_factory=dict)


Phase = Literal["ok", "pending", "firing"]


@dataclass(frozen=True, slots=True)
class SeriesState:
    """State of a series under a rule: its phase, since when, when last seen, and the peak while not ok."""

    phase: Phase = "ok"
    since_s: float = 0.0
    seen_s: float = 0.0
    peak: float = 0.0


def advance_series(rule: Rule, held: SeriesState, sample: Sample) -> SeriesState:
    """Return the state after one more sample."""
    likely = rule.probability is None or (sample.probability is not None and sample.probability >= rule.probability)
    high = sample.value >= rule.above and likely
    # A firing alert ends by its value only: a wide interval does not mean that the condition ended.
    stays = held.phase == "firing" and sample.value >= rule.clears_below
    if not high and not stays:
        return SeriesState(seen_s=sample.at_s)
    if held.phase == "ok":
        held = SeriesState("pending", sample.at_s, sample.at_s, sample.value)
    held = replace(held, seen_s=sample.at_s, peak=max(held.peak, sample.value))
    if held.phase == "pending" and sample.at_s - held.since_s >= rule.for_s:
        return replace(held, phase="firing", since_s=sample.at_s)
    return held


def is_absent(rule: Rule, held: SeriesState, now_s: float) -> bool:
    """Return whether a series that is not ok has had no samples for too long."""
    return held.phase != "ok" and now_s - held.seen_s >= max(rule.absent_s, rule.every_s)


def expression_of(matcher: str) -> str | None:
    """Return the text between a matcher's slashes; None for a plain value."""
    return matcher[1:-1] if len(matcher) > 2 and matcher[0] == matcher[-1] == "/" else None


@lru_cache(maxsize=1024)
def _compile_expression(expression: str) -> Any:
    """Compile an expression with RE2, whose matching time is linear in the text; ValueError with advice if it is not accepted."""
    options = re2.Options()
    options.log_errors, options.max_mem = False, _MOST_MEMORY
    try:
        pattern = re2.compile(expression, options)
    except re2.error as problem:
        why = problem.args[0].decode("utf-8", "replace")
    except UnicodeEncodeError:
        why = "it contains half of a surrogate pair"
    else:
        if pattern.programsize <= _MOST_STEPS:
            return pattern
        why = "pattern too large"
    raise ValueError(why + next((f" ({say})" for mark, say in _INSTEAD.items() if why.startswith(mark)), ""))


def _check_go(expression: str) -> None:
    for token in _TOKEN.finditer(expression):
        if token["open"] is not None:
            raise ValueError("\\Q has no \\E: write \\E, because the expression is placed in a group")
        if token["byte"]:
            raise ValueError("there are no single bytes (\\C): write . for any letter")
        if not (token["name"] or "").isascii():
            raise ValueError(f"the group's name {token['name']} has other letters than a-z, A-Z, 0-9 and _")


def check_matchers(matchers: Mapping[str, str]) -> None:
    """Raise ValueError with advice, naming the matcher, if one is not a regular expression of both RE2 and Go."""
    for matcher in matchers.values():
        expression = expression_of(matcher) or ""
        try:
            _compile_expression(expression)
            _check_go(expression)
        except ValueError as problem:
            raise ValueError(f"{matcher} is not a regular expression that Alertmanager accepts: {problem}") from None


def check_silence(matchers: Mapping[str, str]) -> None:
    """Raise ValueError if a matcher is invalid, or if all of them match missing labels.

    Such a silence, often a typo, would match every alert; Alertmanager refuses it too.
    """
    check_matchers(matchers)
    if match_labels(matchers, {}):
        named = ", ".join(f"{name}={value}" for name, value in matchers.items())
        raise ValueError(
            f"{named or 'no matcher'} matches alerts without these labels too, so it would silence everything: give one label a "
            f"value, or write /.+/ for any"
        )


def match_labels(matchers: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Return whether labels match all matchers; a value between slashes is a regular expression for the whole value."""
    for name, matcher in matchers.items():
        value = labels.get(name, "")
        expression = expression_of(matcher)
        if expression is not None:
            if _compile_expression(expression).fullmatch(value) is None:
                return False
        elif value != matcher:
            return False
    return True
