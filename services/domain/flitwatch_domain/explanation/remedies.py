"""Remedies for a slow job, with the minutes saved by each if they can be computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flitwatch_domain.explanation.candidates import Candidate
from flitwatch_domain.explanation.result import Kind, Remedy
from flitwatch_domain.explanation.slowdown import Slowdown

#: Reasons why the minutes saved are unknown.
NO_STEPS_TO_COME = "too few earlier runs show how many steps remain"
OTHERS_TOO = "other jobs slowed it too"
OWNER = "it depends on the owner's reaction"
NO_REPLAY = "only a replay can estimate it"


def list_remedies(
    job: dict[str, Any], found: Slowdown | None, blamed: Sequence[Candidate], now_s: float, rose: bool | None
) -> list[Remedy]:
    """Return remedies, most certain first, against the named job with the largest part.

    `minutes_saved` of `hold` is the expected delay of the remaining steps at the present pace. This is an upper limit, because the other job's
    remaining time is unknown. If the other job or the job itself has ended, it is the time that the job lost. It is None if the remaining steps are
    unknown or a simulation is needed; then `why_unknown` has the reason. `rose` is whether stalls rose with the step times: if they did not, another
    route would not help.
    """
    if found is None:
        return []
    own = job["job_id"]
    running = job["end_s"] is None and job["state"] == "RUNNING"
    ongoing = running and found.end_s is None
    options: list[Remedy] = []
    named = max(blamed, key=lambda candidate: candidate.part or 0.0, default=None)
    alone = len(blamed) == 1
    if named is not None:
        other = named.job
        ran = other.end_s is None or other.end_s > now_s
        if ongoing and ran:
            options.append(
                _make_remedy(
                    "hold",
                    other.job_id,
                    f"Suspend or hold job {other.job_id} until job {own} ends.",
                    found.saved_s,
                    False,
                    NO_STEPS_TO_COME,
                    found.saved_interval_s,
                )
            )
        else:
            options.append(
                _make_remedy(
                    "delay",
                    other.job_id,
                    f"Had job {other.job_id} started after job {own} ended, job {own} would {'not have been slowed' if alone else 'have been slowed less'}.",
                    found.lost_s if alone else None,
                    True,
                    OTHERS_TOO,
                    found.lost_interval_s if alone and found.within_s > 0 else None,
                )
            )
        options.append(
            _make_remedy(
                "tell",
                other.job_id,
                f"Tell the owner of job {other.job_id} about its effect on other jobs.",
                None,
                False,
                OWNER,
            )
        )
        options.append(
            _make_remedy(
                "move",
                own,
                f"Place job {own} in groups without job {other.job_id}.",
                None,
                not ongoing,
                NO_REPLAY,
            )
        )
    if (ongoing or named is not None) and rose is not False:
        options.append(
            _make_remedy("re-route", own, f"Use another routing mode for job {own}.", None, not ongoing, NO_REPLAY)
        )
    return options


def _make_remedy(
    kind: Kind,
    job_id: str,
    text: str,
    saved_s: float | None,
    in_past: bool,
    why_unknown: str,
    interval_s: tuple[float, float] | None = None,
) -> Remedy:
    low, high = (None, None) if interval_s is None else (end_s / 60 for end_s in interval_s)
    return {
        "kind": kind,
        "job_id": job_id,
        "text": text,
        "minutes_saved": None if saved_s is None else saved_s / 60,
        "minutes_saved_low": low,
        "minutes_saved_high": high,
        "why_unknown": why_unknown if saved_s is None else None,
        "in_past": in_past,
    }
