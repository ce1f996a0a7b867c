"""Stored part of a job's explanation in an incident; it identifies jobs by number only, and contains no user names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from flitwatch_domain.explanation.result import CandidateJob, CarryingLink, Explanation, JobSlowdown, Remedy, Verdict


class Finding(TypedDict):
    """Summary of a slow job's explanation.

    Attributes
    ----------
    named : the named jobs, largest part first
    quiet : the waiting of a quiet moment on its path; None: unknown
    quiet_s, quiet_width : start of that moment in epoch seconds, and its length
    to_file_system : whether the path leads to the file system
    """

    verdict: Verdict
    reasons: list[str]
    slowdown: JobSlowdown
    named: list[CandidateJob]
    links: list[CarryingLink]
    remedies: list[Remedy]
    quiet: float | None
    quiet_s: float | None
    quiet_width: int | None
    to_file_system: bool


def of_explanation(made: Explanation) -> Finding | None:
    """Return the stored part of an explanation; None if it names no job."""
    slow = made["slowdown"]
    if made["verdict"] != "named" or slow is None:
        return None
    named = [candidate for candidate in made["candidates"] if candidate["named"]]
    flow = made["flow"]
    return {
        "verdict": made["verdict"],
        "reasons": made["reasons"],
        "slowdown": slow,
        # User names are read from the job when it is shown.
        "named": [
            {**candidate, "user": None, "name": None, "blame": None} for candidate in sorted(named, key=_sort_key)
        ],
        "links": made["links"],
        "remedies": made["remedies"],
        "quiet": None if flow is None else flow["quiet"],
        "quiet_s": None if flow is None or flow["quiet_from"] is None else flow["quiet_from"].timestamp(),
        "quiet_width": None if flow is None else flow["resolution_s"],
        "to_file_system": flow is not None and flow["to_file_system"],
    }


def _sort_key(one: CandidateJob) -> float:
    return -(one["part"] if one["part"] is not None else one["score"])


_TIMES = ("since", "since_low", "since_high", "until", "start", "end", "changed")


def as_stored(value: Any) -> Any:
    """Convert plain data for storage, with times as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: as_stored(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_stored(inner) for inner in value]
    return value


def as_read(value: Any) -> Any:
    """Convert stored data back, with texts as times."""
    if isinstance(value, Mapping):
        return {
            name: datetime.fromisoformat(inner) if name in _TIMES and isinstance(inner, str) else as_read(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [as_read(inner) for inner in value]
    return value
