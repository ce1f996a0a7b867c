"""Incident of a machine as an object: its content, duration and cost.

It opens when a slow job's cause is named. It lasts while a cause keeps the links busy that the job waits for, even if the job has ended.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from flitwatch_domain.explanation.flow import LEAST_HIDDEN, LEAST_PART, LEAST_WAITING
from flitwatch_domain.explanation.result import CarryingLink, Remedy, SlowJob
from flitwatch_domain.explanation.words import format_clock, format_count, format_jobs, format_percent

MINUTE_S = 60.0
#: A minute belongs to an incident if its waiting in excess of the quiet moment is at least this part of the worst. Starting an incident takes more.
STILL = 0.1
#: This many seconds without such a minute end it; a burst after a shorter pause belongs to it.
CALM_S = 180.0
#: A cause is known to burst from its second burst on. Then a calm of this many of its periods, at most `LONGEST_CALM_S`, ends the incident.
CALM_PERIODS, LONGEST_CALM_S = 3, 1800.0
#: A burst begins in a minute in which a job sends this part of the way from its least to its most, and ends in one in which it sends less than that
#: part. A job whose least is more than the first part of its most sends steadily.
BURST_BEGINS, BURST_ENDS = 0.5, 0.25
#: A slow job belongs to an incident of the same causes that ended at most this long before.
REOPENS_S = 300.0

State = Literal["open", "over", "withdrawn"]


class IncidentCause(TypedDict):
    """A job named as the cause of an incident."""

    job_pk: int
    job_id: str
    user: str | None
    account: str | None
    name: str | None
    nodes: int | None
    simulated: bool
    start: datetime | None
    end: datetime | None
    part: Annotated[
        float | None,
        Field(
            description="0 to 1: share of the waiting that is due to its traffic; null if it is named only from times and places."
        ),
    ]


class IncidentHead(TypedDict):
    """One incident: the jobs that kept links congested, and the cost."""

    incident_id: int
    fabric: str
    simulated: bool
    state: Annotated[
        State,
        Field(
            description="Withdrawn: the complete run of the slowed job does not confirm the result that was shown while it ran."
        ),
    ]
    began: datetime
    ended: Annotated[datetime | None, Field(description="Null while it is open.")]
    title: str
    causes: Annotated[list[IncidentCause], Field(description="Largest share first.")]
    worst: Annotated[str | None, Field(description="The slowed job that lost most; null: no slowed job is left.")]
    slowed: Annotated[int, Field(description="Jobs that it slowed, including those that have ended or recovered.")]
    slow_now: Annotated[int, Field(description="Jobs that it is slowing now.")]
    lost_s: Annotated[float, Field(description="Total seconds that the slowed jobs lost.")]
    node_hours: Annotated[
        float | None,
        Field(
            description="The same, multiplied by each job's nodes; null: the number of nodes of a slowed job is unknown."
        ),
    ]
    node_hours_low: Annotated[float | None, Field(description="95 % interval.")]
    node_hours_high: float | None


class SlowedJob(SlowJob):
    """A job that an incident slowed."""

    lost_low_s: Annotated[float, Field(description="95 % interval of lost_s.")]
    lost_high_s: float
    named: Annotated[list[str], Field(description="Jobs named as its cause, largest share first.")]


class IncidentMinute(TypedDict):
    """A minute of an incident."""

    at: Annotated[datetime, Field(description="Its beginning.")]
    waiting: Annotated[float, Field(description="Stall cycles per flit on the path of the job that lost most.")]
    part: Annotated[
        float | None, Field(description="0 to 1: the causes' share of the waiting since a quiet minute; null: unknown.")
    ]


class IncidentAlert(TypedDict):
    """An alert of an incident."""

    alert_id: int
    rule: str
    phase: Literal["pending", "firing", "resolved"]
    fired_at: datetime | None
    resolved_at: datetime | None
    delivered: Annotated[int, Field(description="Number of messages that receivers accepted.")]


class IncidentNote(TypedDict):
    """A note about an action on an incident."""

    note_id: int
    at: datetime
    author: str
    text: str


class IncidentDetail(IncidentHead):
    """An incident with all its details."""

    detail: str
    quiet: Annotated[
        float | None, Field(description="Stall cycles per flit on that path in a quiet minute; null: unknown.")
    ]
    links: Annotated[list[CarryingLink], Field(description="Hottest first.")]
    victims: Annotated[list[SlowedJob], Field(description="Jobs that waste most nodes first.")]
    remedies: Annotated[list[Remedy], Field(description="Remedies for the job that wastes most nodes.")]
    minutes: list[IncidentMinute]
    alerts: list[IncidentAlert]
    notes: list[IncidentNote]


@dataclass(frozen=True)
class LostTime:
    """Seconds that a job lost, with the 95 % interval, and its number of nodes (None: unknown)."""

    seconds: float
    low_s: float
    high_s: float
    nodes: int | None


def node_hours(lost: Sequence[LostTime]) -> tuple[float, float, float] | None:
    """Return the node-hours that jobs lost, with the 95 % interval. None: the number of nodes of a job is unknown."""
    known = [(loss, Factor(*[loss.nodes / 3600] * 3)) for loss in lost if loss.nodes is not None]
    return sum_losses(known) if len(known) == len(lost) else None


@dataclass(frozen=True)
class Factor:
    """What a lost time is multiplied by: a value between two bounds, and the 95 % errors of the bounds."""

    value: float
    low: float
    high: float
    low_within: float = 0.0
    high_within: float = 0.0


def find_share(named: Sequence[Mapping[str, Any]], job_pk: int) -> Factor:
    """Return a job's share of a loss among the jobs named for it (`CandidateJob`).

    At least its part of the waiting is due to it, and at most all that is not due to the other named jobs: the bounds of a partially identified
    share (Horowitz and Manski 2000). If the error of a part is unknown, any share is possible.
    """
    parts = {job["job_pk"]: job["part"] for job in named}
    if None in parts.values():
        return Factor(1 / len(parts), 0.0, 1.0)
    own, total = parts[job_pk], sum(parts.values())
    within: dict[int, Any] = {job["job_pk"]: job.get("part_within") for job in named}
    if None in within.values():
        return Factor(own / total, 0.0, 1.0)
    own_within, others = within.pop(job_pk), total - own
    return Factor(own / total, own, 1.0 - others, min(own_within, own), min(sum(within.values()), others))


def sum_losses(lost: Sequence[tuple[LostTime, Factor]]) -> tuple[float, float, float]:
    """Return the sum of lost times, each multiplied by its factor, with the 95 % interval.

    It reaches from the sum at the lower bounds, less its error, to that at the upper bounds, plus its error. Errors are added as distances to limits
    (MOVER, Zou and Donner 2008). Those of the jobs' lost times are independent. Those of the factors have one cause, the same traffic in the same
    minutes, and are added in full.
    """
    total = sum(loss.seconds * factor.value for loss, factor in lost)
    low = sum(loss.seconds * factor.low for loss, factor in lost)
    high = sum(loss.seconds * factor.high for loss, factor in lost)
    below = math.hypot(
        *((loss.seconds - loss.low_s) * factor.low for loss, factor in lost),
        sum(loss.seconds * factor.low_within for loss, factor in lost),
    )
    above = math.hypot(
        *((loss.high_s - loss.seconds) * factor.high for loss, factor in lost),
        sum(loss.seconds * factor.high_within for loss, factor in lost),
    )
    return total, max(0.0, low - below), high + above


@dataclass(frozen=True)
class Minute:
    """An examined minute: start in epoch seconds, the waiting, and the causes' part of it (None: unknown)."""

    at_s: float
    waiting: float
    part: float | None


def find_longest_calm(minutes: Sequence[tuple[float, float]]) -> float:
    """Return the seconds of calm that do not yet end an incident, by what its cause sent, or how long flits waited for it, in each minute.

    `minutes` are the beginning of each minute and the rate or the waiting in it, in order of time.
    """
    least, most = (choose((amount for _, amount in minutes), default=0.0) for choose in (min, max))
    if least >= BURST_BEGINS * most:
        return CALM_S
    sending, begins = False, []
    for at, amount in minutes:
        level = (amount - least) / (most - least)
        if not sending and level >= BURST_BEGINS:
            begins.append(at)
        sending = level >= (BURST_ENDS if sending else BURST_BEGINS)
    if len(begins) < 2:
        return CALM_S
    period_s = (begins[-1] - begins[0]) / (len(begins) - 1)
    return min(max(CALM_S, CALM_PERIODS * period_s), LONGEST_CALM_S)


def _list_busy_minutes(minutes: Sequence[Minute], quiet: float, began_s: float, until_s: float) -> NDArray[np.float64]:
    """Return the start times of the minutes in which causes keep links busy, in ascending epoch seconds."""
    inside = [minute.waiting - quiet for minute in minutes if began_s - MINUTE_S < minute.at_s < until_s]
    least = max(STILL * max(inside, default=0.0), LEAST_WAITING)
    busy_s = [
        minute.at_s
        for minute in minutes
        if minute.waiting - quiet >= least and minute.part is not None and minute.part >= LEAST_PART
    ]
    return np.sort(np.array(busy_s, np.float64))


@dataclass(frozen=True)
class Pause:
    """Calm between bursts: its start in epoch seconds, and the mean seconds between bursts (None if only one burst is known)."""

    since_s: float
    period_s: float | None


def find_pause(minutes: Sequence[Minute], quiet: float, began_s: float, until_s: float) -> Pause | None:
    """Return the current pause of an incident's causes, whose slow stretch is [began_s, until_s]; None if they keep the links busy.

    A calm shorter than `CALM_S` is not a pause.
    """
    busy_s = _list_busy_minutes(minutes, quiet, began_s, until_s)
    if not len(busy_s) or max(minute.at_s for minute in minutes) - busy_s[-1] < CALM_S:
        return None
    begins_s = busy_s[np.diff(busy_s, prepend=-np.inf) > MINUTE_S]
    period_s = float(np.diff(begins_s).mean()) if len(begins_s) > 1 else None
    return Pause(max(float(busy_s[-1]) + MINUTE_S, until_s), period_s)


def find_busy_interval(
    minutes: Sequence[Minute], quiet: float, began_s: float, until_s: float, longest_calm_s: float = CALM_S
) -> tuple[float, float]:
    """Return the interval in which causes kept links busy, epoch seconds: the slow stretch [began_s, until_s] and the minutes connected to it.

    A minute counts if a flit waits `STILL` of the worst in excess of the quiet waiting, and the causes have a part in that. More than
    `longest_calm_s` without such a minute, or without counters, ends the interval.
    """
    busy_s = _list_busy_minutes(minutes, quiet, began_s, until_s)
    low, high = began_s, until_s
    for at in busy_s[busy_s + MINUTE_S > until_s].tolist():
        if at - high > longest_calm_s:
            break
        high = max(high, at + MINUTE_S)
    for at in busy_s[busy_s < began_s][::-1]:
        if low - at - MINUTE_S > longest_calm_s:
            break
        low = min(low, float(at))
    return low, high


def make_title(
    causes: Sequence[str],
    victims: Sequence[str],
    slow_now: int,
    began_s: float,
    ended_s: float | None,
    gone: Collection[str],
    pause: Pause | None = None,
    counted: bool = True,
) -> str:
    """Return one line: causes, victims, start and end. Jobs are given by number.

    `gone` are the causes that have ended, `pause` is that between bursts, and `counted` is whether counters show the links' present state.
    """
    if not victims:
        return "Withdrawn: the complete run of the slowed job does not confirm it"
    who = format_jobs(causes) if causes else "unknown jobs"
    whom = f"job {victims[0]}" if len(victims) == 1 else format_count(len(victims), "job")
    who, since = who[:1].upper() + who[1:], format_clock(began_s)
    single = len(causes) == 1
    if ended_s is not None:
        return f"{who} slowed {whom} {_format_span(began_s, ended_s)}"
    left = [job for job in causes if job not in gone]
    if causes and not left:
        return f"{who} slowed {whom} from {since} and {'has' if single else 'have'} ended"
    over = f"; {format_jobs(list(gone))} {'has' if len(gone) == 1 else 'have'} ended" if gone else ""
    if slow_now:
        now = "" if slow_now == len(victims) else f"; {slow_now} {'is' if slow_now == 1 else 'are'} slow now"
        return f"{who} {'has' if single else 'have'} been slowing {whom} since {since}{now}{over}"
    if pause is not None:
        last = f"the last burst ended at {format_clock(pause.since_s)}"
        if pause.period_s is None:
            return f"{who} slowed {whom} from {since}; {last}{over}"
        often = format_count(round(pause.period_s / MINUTE_S), "minute")
        return f"{who} slowed {whom} from {since} in bursts, about every {often}; {last}{over}"
    still = f"still {'keeps' if len(left) == 1 else 'keep'} {'its' if len(victims) == 1 else 'their'} links busy"
    if not counted:
        return f"{who} slowed {whom} from {since}; whether {format_jobs(left) if left else 'they'} {still} is unknown"
    return f"{who} slowed {whom} from {since}{f', and {format_jobs(left)}' if gone else ' and'} {still}"


def _format_span(began_s: float, ended_s: float) -> str:
    """Format a start and an end, with dates if these differ."""
    began, ended = (epoch_to_datetime(at_s) for at_s in (began_s, ended_s))
    if began.date() == ended.date():
        return f"from {format_clock(began_s)} to {format_clock(ended_s)}"
    return f"from {began:%Y-%m-%d %H:%M:%S} UTC to {ended:%Y-%m-%d %H:%M:%S} UTC"


def make_detail(causes: Sequence[tuple[str, float | None]], node_hours_lost: tuple[float, float, float] | None) -> str:
    """Describe the basis of the title, and the incident's cost."""
    parts = [
        f"{format_percent(part)} of the added waiting is due to the traffic of job {job}."
        for job, part in causes
        if part is not None
    ]
    if node_hours_lost is None:
        parts.append(
            "The node-hours that the slow jobs lost are unknown, because the number of nodes of a job is unknown."
        )
    else:
        total, low, high = (f"{hours:,.0f}" if hours >= 1000 else f"{hours:.3g}" for hours in node_hours_lost)
        parts.append(f"The slow jobs lost {total} node-hours (95 %: {low} to {high}).")
    parts.append("Based on traffic and timing; not proof of cause.")
    return " ".join(parts)


def parts_of(named: Sequence[Mapping[int, float | None]], weights: Sequence[float]) -> dict[int, float | None]:
    """Return the parts of an incident's causes, averaged over the slow jobs and weighted by their lost time, largest first."""
    # At the moment at which the first one became slow, none has lost anything.
    weights = weights if any(weights) else [1.0] * len(weights)
    total = sum(weights)
    parts: dict[int, float | None] = {}
    for of, weight in zip(named, weights, strict=True):
        for cause, part in of.items():
            previous = parts.get(cause)
            parts[cause] = previous if part is None else (previous or 0.0) + part * weight / total
    return dict(sorted(parts.items(), key=lambda one: (-(one[1] or 0.0), one[0])))


def causes_of(parts: Mapping[int, float | None], slowed: Mapping[int, Collection[int]]) -> list[int]:
    """Return the jobs with these parts (largest first) that are causes: at least `LEAST_HIDDEN`, and not slowed themselves; always one or more.

    `slowed` are the slowed jobs, each with its named jobs that had started when it became slow. One of them is a cause, or a title would name only jobs
    that started later.
    """
    others = [pk for pk in parts if pk not in slowed] or list(parts)
    chosen = {pk for pk in others if pk == others[0] or parts[pk] is None or (parts[pk] or 0.0) >= LEAST_HIDDEN}
    for present in slowed.values():
        if chosen.isdisjoint(present):
            chosen.update([pk for pk in (*others, *parts) if pk in present][:1])
    return [pk for pk in parts if pk in chosen]


def epoch_to_datetime(at_s: float) -> datetime:
    """Convert epoch seconds to a datetime."""
    return datetime.fromtimestamp(at_s, UTC)
