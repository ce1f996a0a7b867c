"""Placement pattern of an application, together or spread over groups, from its own earlier runs or from its traffic (Wang 2018, section IV)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import INTENSIVE_SHARE


@dataclass(frozen=True)
class Parts:
    """Parts that an answer may use. Each can be disabled; a part without data reports that and changes nothing.

    Attributes
    ----------
    counters : congestion near the nodes in the last minutes.
    blame : users who are blamed for the application and have jobs there now.
    forecast : congestion expected for the next hour.
    running : remaining time of the jobs there; congestion that they cause ends with them.
    drivers : counters that predict the application's deviation, in place of router stalls.
    pattern : whether the application runs better in one group or spread over several.
    routing : routing mode that its network cards' counters favour.
    """

    counters: bool = True
    blame: bool = True
    forecast: bool = True
    running: bool = True
    drivers: bool = True
    pattern: bool = True
    routing: bool = True

    @classmethod
    def of(cls, names: Collection[str]) -> Parts:
        """Return an object with only these parts; BadRequest for an unknown name."""
        part_names = [field.name for field in fields(cls)]
        wrong = sorted(set(names) - set(part_names))
        if wrong:
            raise BadRequest(f"advice has no part {wrong[0]!r}", advice=f"Name some of {', '.join(part_names)}.")
        return cls(**{name: name in names for name in part_names})


#: Default of `FLITWATCH_ADVICE_PARTS`.
SERVED = Parts.of(("counters", "forecast", "running"))


#: Minimum number of runs of each kind for a comparison of their times.
LEAST_PLACED = 20
#: Two-sided 95 % quantile of a normal distribution: both samples have at least `LEAST_PLACED` runs.
Z = 1.96

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pattern:
    """Pattern (`together`, `spread`, or None if the data cannot tell), the reason in words, and the address of the evidence."""

    placement: Literal["together", "spread"] | None
    text: str
    evidence: str | None = None


def choose_pattern(application: str, runs: Sequence[Mapping[str, Any]], intensity: Mapping[str, Any] | None) -> Pattern:
    """Return the pattern from the application's own runs; if they are too few, from Wang's rule on its network cards' traffic.

    Parameters
    ----------
    runs : comparable runs, with `groups`, `time_s` and `congestion`.
    intensity : {share, recommendation_id} or None.
    """
    own_pattern = by_runs(application, runs)
    if own_pattern is not None:
        return own_pattern
    if intensity is None:
        return Pattern(
            None,
            f"needs {LEAST_PLACED} runs of {application} within one group and {LEAST_PLACED} over several,"
            " or counters of its network cards (task routing.advice)",
        )
    share, number = float(intensity["share"]), intensity.get("recommendation_id")
    evidence = None if number is None else f"/api/v1/advice/{number}"
    sends = f"its network cards sent {share:.1%} of what they can"
    if share >= INTENSIVE_SHARE:
        return Pattern("spread", f"{sends}: an application that sends much is spread over groups", evidence)
    return Pattern("together", f"{sends}: an application that sends little is kept together", evidence)


def by_runs(application: str, runs: Sequence[Mapping[str, Any]]) -> Pattern | None:
    """Compare the times of runs within one group and over several, at similar congestion; None if they are too few.

    Runs below and above the median congestion are compared separately, and the differences are averaged by the number of runs. Otherwise the result is
    biased: on a full machine, jobs are spread more and also meet more congestion.
    """
    usable_runs = [row for row in runs if row.get("groups") and row["congestion"] is not None]
    single_group = np.array([len(row["groups"]) == 1 for row in usable_runs], bool)
    if min(single_group.sum(), (~single_group).sum()) < LEAST_PLACED:
        return None
    times = np.array([row["time_s"] for row in usable_runs], float)
    congestion = np.array([row["congestion"] for row in usable_runs], float)
    high = congestion > np.median(congestion)
    parts = [_mean_difference(times[half & ~single_group], times[half & single_group]) for half in (high, ~high)]
    differences = [part for part in parts if part is not None]
    if not differences:
        return None
    weight = np.array([part[2] for part in differences])
    weight /= weight.sum()
    mean = float(weight @ [part[0] for part in differences]) / times.mean()
    half = Z * float(np.sqrt(weight**2 @ [part[1] for part in differences])) / times.mean()
    text = (
        f"runs of {application} over several groups took {mean:+.1%} of their mean time ({mean - half:+.1%} to {mean + half:+.1%})"
        f" compared with those within one, at similar congestion; {int(single_group.sum())} and {int((~single_group).sum())} runs"
    )
    if mean - half > 0:
        return Pattern("together", text)
    if mean + half < 0:
        return Pattern("spread", text)
    return Pattern(None, f"{text}: no difference beyond chance")


def _mean_difference(spread: Floats, together: Floats) -> tuple[float, float, float] | None:
    """Return (difference of means, its variance, runs of the smaller sample)."""
    if min(len(spread), len(together)) < LEAST_PLACED // 4:
        return None
    variance = spread.var(ddof=1) / len(spread) + together.var(ddof=1) / len(together)
    return float(spread.mean() - together.mean()), float(variance), float(min(len(spread), len(together)))
