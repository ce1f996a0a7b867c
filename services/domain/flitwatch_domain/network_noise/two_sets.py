"""Comparison of two sets of observations of network cards, as far as the guidelines of De Sensi 2019 (section 3) allow, or the reason why not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flitwatch_domain.network_noise.observations import NicObservation, message_time_s, quartile_dispersion, t_quantile

Floats = NDArray[np.float64]
Verdict = Literal["higher", "lower", "cannot tell"]
FigureKey = Literal["latency_cycles", "stalls_per_flit", "flits_per_s", "message_s"]

#: Minimum number of observations of each set within shared allocations.
LEAST_OBSERVATIONS = 4
LEVEL = 0.95
#: Differences of logarithms below this are rounding errors.
_ROUNDING = 1e-9
#: Values that are comparable between intervals of any length (guideline 2), with their units; `message_s` is the modelled time of one message (equation 2).
FIGURES: dict[FigureKey, str] = {
    "latency_cycles": "NIC cycles / request",
    "stalls_per_flit": "cycles / flit",
    "flits_per_s": "flits / s",
    "message_s": "s",
}


@dataclass(frozen=True)
class Observed:
    """Counts of a run's network cards, and its duration by its own clock; None: unknown."""

    counts: NicObservation
    time_s: float | None


@dataclass(frozen=True)
class ComparedGuideline:
    """A published guideline for comparisons."""

    number: Literal[1, 2, 3]
    holds: Annotated[bool | None, Field(description="null: it could not be checked.")]
    text: str


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of both sets within their common allocations; null means "cannot tell"."""

    key: FigureKey
    unit: str
    first: float | None
    second: float | None
    ratio: Annotated[float | None, Field(description="Ratio of the second to the first.")]
    low: Annotated[float | None, Field(description="95 % interval of the ratio.")]
    high: float | None
    verdict: Verdict


@dataclass(frozen=True)
class NoiseDispersion:
    """Quartile coefficients of dispersion within the set's largest allocation; null below four observations."""

    measured: Annotated[
        float | None, Field(description="Dispersion of the run times, including effects other than the network.")
    ]
    network: Annotated[
        float | None, Field(description="Dispersion of the message times predicted from latency and stalls.")
    ]
    latency: float | None


@dataclass(frozen=True)
class Comparison:
    """Second set compared with the first.

    Attributes
    ----------
    verdict : about the modelled time of a message
    why : basis of the verdict, or why there is none
    counted, shared : observations of each set, and those within shared allocations
    """

    verdict: Verdict
    why: str
    counted: tuple[int, int]
    shared: tuple[int, int]
    guidelines: tuple[ComparedGuideline, ComparedGuideline, ComparedGuideline]
    figures: tuple[ComparedFigure, ...]
    dispersion: tuple[NoiseDispersion, NoiseDispersion]


def compare_sets(first: Sequence[Observed], second: Sequence[Observed], message_bytes: int) -> Comparison:
    """Compare the sets within each shared allocation, by logarithms: means and ratios are geometric, and an allocation's weight is its number of
    observations.

    Intervals keep their coverage even if an allocation has few observations (ADR 0024). A value of zero makes the result unknown.
    """
    sides = [_by_allocation(side) for side in (first, second)]
    both = sorted(sides[0].keys() & sides[1].keys())
    pairs = [(sides[0][where], sides[1][where]) for where in both]
    shared = (sum(len(a) for a, _ in pairs), sum(len(b) for _, b in pairs))
    enough = min(shared) >= LEAST_OBSERVATIONS
    figures = tuple(_compare_figure(key, pairs if enough else [], message_bytes) for key in FIGURES)
    verdict: Verdict = figures[-1].verdict
    return Comparison(
        verdict,
        _explain_verdict(figures[-1], enough, shared),
        (len(first), len(second)),
        shared,
        (
            _check_allocations(len(both), shared, (len(first), len(second))),
            _check_intervals(first, second),
            _check_times(first, second),
        ),
        figures,
        (_measure_dispersion(first, message_bytes), _measure_dispersion(second, message_bytes)),
    )


def _by_allocation(side: Sequence[Observed]) -> dict[tuple[str, ...], list[Observed]]:
    by_allocation: dict[tuple[str, ...], list[Observed]] = defaultdict(list)
    for observation in side:
        by_allocation[observation.counts.allocation].append(observation)
    return by_allocation


def _get_value(key: str, one: Observed, message_bytes: int) -> float:
    if key == "message_s":
        return message_time_s(message_bytes, one.counts.latency_cycles, one.counts.stalls_per_flit)
    return float(getattr(one.counts, key))


def _compare_figure(
    key: FigureKey, pairs: Sequence[tuple[list[Observed], list[Observed]]], message_bytes: int
) -> ComparedFigure:
    nothing = ComparedFigure(key, FIGURES[key], None, None, None, None, None, "cannot tell")
    values = [
        tuple(np.array([_get_value(key, observation, message_bytes) for observation in side], float) for side in pair)
        for pair in pairs
    ]
    values = [pair for pair in values if all(np.isfinite(side).all() and (side > 0).all() for side in pair)]
    if not values or min(sum(len(pair[side]) for pair in values) for side in (0, 1)) < LEAST_OBSERVATIONS:
        return nothing
    weight = np.array([len(a) * len(b) / (len(a) + len(b)) for a, b in values])
    weight /= weight.sum()
    means = [float(np.exp(weight @ [np.log(pair[side]).mean() for pair in values])) for side in (0, 1)]
    change, half = _estimate_change(values)
    low, high = (float(np.exp(change + off)) for off in (-half, half))
    verdict: Verdict = (
        "higher" if change - half > _ROUNDING else "lower" if change + half < -_ROUNDING else "cannot tell"
    )
    return ComparedFigure(key, FIGURES[key], means[0], means[1], float(np.exp(change)), low, high, verdict)


def _estimate_change(values: Sequence[tuple[Floats, ...]]) -> tuple[float, float]:
    """Return the logarithm of the second set over the first, and half of its 95 % interval.

    The method is least squares with a level for each allocation. This is a paired t-interval if each set observed each allocation once, and Welch's
    interval for a single allocation. Variance: MacKinnon and White 1985 (HC2); degrees of freedom: Bell and McCaffrey 2002.
    """
    y = np.log(np.concatenate([side for pair in values for side in pair]))
    second = np.concatenate([np.full(len(side), at, float) for pair in values for at, side in enumerate(pair)])
    where = np.repeat(np.arange(len(values)), [sum(map(len, pair)) for pair in values])
    design = np.column_stack([where[:, None] == np.arange(len(values)), second])
    solve = np.linalg.pinv(design)
    apart = np.eye(len(y)) - design @ solve
    scale = solve[-1] ** 2 / np.diag(apart)
    spread = scale[:, None] * apart
    freedom = np.trace(spread) ** 2 / (spread * spread.T).sum()
    half = t_quantile((1 + LEVEL) / 2, max(int(freedom + _ROUNDING), 1)) * np.sqrt(scale @ (apart @ y) ** 2)
    return float(solve[-1] @ y), float(half)


def _explain_verdict(message: ComparedFigure, enough: bool, shared: tuple[int, int]) -> str:
    if not enough:
        return (
            f"needs {LEAST_OBSERVATIONS} observations of each set within allocations that both have, has {shared[0]} and {shared[1]}:"
            " differences between other nodes are not evidence of noise"
        )
    if message.ratio is None:
        return "an observation lacks traffic, latency or stalls"
    span = f"{message.ratio:.2f} times ({message.low:.2f} to {message.high:.2f}, 95 %) as long"
    doubt = ": no difference beyond chance" if message.verdict == "cannot tell" else ""
    return f"a message of the second set takes {span} as one of the first set, from latency and stalls{doubt}"


def _check_allocations(allocations: int, shared: tuple[int, int], counted: tuple[int, int]) -> ComparedGuideline:
    of = f"{shared[0]} of {counted[0]} and {shared[1]} of {counted[1]} observations are in {allocations} allocations that both sets have"
    return ComparedGuideline(
        1, min(shared) >= LEAST_OBSERVATIONS, f"Compare within one allocation: {of}; the others are left out."
    )


def _check_intervals(first: Sequence[Observed], second: Sequence[Observed]) -> ComparedGuideline:
    lengths = [
        sum(observation.counts.interval_s for observation in side) / max(len(side), 1) for side in (first, second)
    ]
    if min(lengths) <= 0:
        return ComparedGuideline(
            2, None, "Do not compare raw counts of intervals of different lengths: a set is empty."
        )
    text = f"the second set's intervals are {lengths[1] / lengths[0]:.2f} times as long; only quotients are compared"
    return ComparedGuideline(2, True, f"Do not compare raw counts of intervals of different lengths: {text}.")


def _check_times(first: Sequence[Observed], second: Sequence[Observed]) -> ComparedGuideline:
    timed = sum(observation.time_s is not None for side in (first, second) for observation in side)
    if not timed:
        return ComparedGuideline(
            3, None, "Measured times also include effects other than the network, and none of these runs was timed."
        )
    text = "the table has their dispersion next to the predicted one"
    return ComparedGuideline(3, True, f"Measured times also include effects other than the network: {text}.")


def _measure_dispersion(side: Sequence[Observed], message_bytes: int) -> NoiseDispersion:
    """Measure the dispersion of one set within its largest allocation."""
    own = max(_by_allocation(side).values(), key=len, default=[])
    if len(own) < LEAST_OBSERVATIONS:
        return NoiseDispersion(None, None, None)
    times = [observation.time_s for observation in own if observation.time_s is not None]
    predicted = np.array([_get_value("message_s", observation, message_bytes) for observation in own])
    latency = np.array([observation.counts.latency_cycles for observation in own])
    return NoiseDispersion(
        quartile_dispersion(times) if len(times) >= LEAST_OBSERVATIONS else None,
        quartile_dispersion(predicted.tolist()) if np.isfinite(predicted).all() else None,
        quartile_dispersion(latency.tolist()) if np.isfinite(latency).all() else None,
    )
