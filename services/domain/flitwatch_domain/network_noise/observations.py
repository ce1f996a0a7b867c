"""Noise estimator from NIC counters (De Sensi 2019, section 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

Floats = NDArray[np.float64]

#: Clock of an Aries NIC.
NIC_HZ = 800e6
#: A NIC can send one 16-byte flit per cycle. Above this share of that rate a job is communication-intensive. The limit is our choice: the study ranks
#: three applications by bytes sent over time and gives no number.
INTENSIVE_SHARE = 0.05


@dataclass(frozen=True)
class NicObservation:
    """Counters of one NIC over one interval.

    Attributes
    ----------
    allocation : tuple of str
        The job's nodes in rank order.
    cumulative_latency_us : float
        As counted: microseconds over all request-response pairs.
    """

    allocation: tuple[str, ...]
    interval_s: float
    request_flits: int
    request_packets: int
    stalled_cycles: int
    cumulative_latency_us: float

    @property
    def latency_cycles(self) -> float:
        """Return L: mean request-to-response time in NIC cycles; NaN without a packet."""
        if not self.request_packets:
            return float("nan")
        return self.cumulative_latency_us * 1e-6 * NIC_HZ / self.request_packets

    @property
    def stalls_per_flit(self) -> float:
        """Return s: stalled cycles per request flit; NaN without a flit."""
        return self.stalled_cycles / self.request_flits if self.request_flits else float("nan")

    @property
    def flits_per_s(self) -> float:
        """Return flits over the observation's length, which is comparable between intervals."""
        return self.request_flits / self.interval_s


@overload
def transmission_time_s(packets: float, flits: float, latency_cycles: float, stalls_per_flit: float) -> float: ...
@overload
def transmission_time_s(packets: Floats, flits: Floats, latency_cycles: Floats, stalls_per_flit: Floats) -> Floats: ...
def transmission_time_s(packets: Any, flits: Any, latency_cycles: Any, stalls_per_flit: Any) -> Any:
    """Return equation 2: T = (p + 512) / 1024 * L + f (s + 1), in seconds; numbers, or arrays of one shape."""
    return ((packets + 512) / 1024 * latency_cycles + flits * (stalls_per_flit + 1)) / NIC_HZ


def message_time_s(size_bytes: int, latency_cycles: float, stalls_per_flit: float) -> float:
    """Return equation 2 for a PUT of 64-byte packets."""
    packets = -(-size_bytes // 64)
    flits = packets - (-size_bytes // 16)
    return transmission_time_s(packets, flits, latency_cycles, stalls_per_flit)


def quartile_dispersion(values: Sequence[float]) -> float:
    """Return QCD = (Q3 - Q1) / (Q3 + Q1)."""
    first, third = np.percentile(np.asarray(values, float), [25, 75])
    return float((third - first) / (third + first)) if third + first else 0.0


#: Half a notch over the interquartile range and the root of the sample's size: medians whose notches do not overlap differ with 95 % confidence
#: (McGill, Tukey and Larsen, Variations of box plots, 1978).
_NOTCH = 1.57
_SHARE = 0.975


@dataclass(frozen=True)
class NotchedBox:
    """Seconds of all single measurements: extremes, quartiles, median."""

    least: float
    q1: float
    median: float
    q3: float
    most: float
    notch: Annotated[
        tuple[float, float],
        Field(description="95 % interval of the median: medians whose notches do not overlap differ."),
    ]
    measurements: int


@dataclass(frozen=True)
class FittedLine:
    """Line fitted by least squares.

    Attributes
    ----------
    slope, intercept, slope_ci95 : of the line of values over ratios
    band : (ratio, low, fitted, high); the 95 % interval of the line at each ratio
    points : number of fitted values
    """

    slope: float
    intercept: float
    slope_ci95: tuple[float, float]
    band: tuple[tuple[float, float, float, float], ...]
    points: int


def notched_box(five: Sequence[float], measurements: int) -> NotchedBox:
    """Return the box with the given minimum, quartiles, median and maximum, in ascending order."""
    least, q1, median, q3, most = five
    half = _NOTCH * (q3 - q1) / math.sqrt(measurements)
    return NotchedBox(least, q1, median, q3, most, (median - half, median + half), measurements)


def fitted_line(ratios: Sequence[float], values: Sequence[float]) -> FittedLine | None:
    """Fit values over ratios by least squares; None for fewer than three values, or if all ratios are equal."""
    n = len(values)
    mean_x, mean_y = sum(ratios) / max(n, 1), sum(values) / max(n, 1)
    sxx = sum((x - mean_x) ** 2 for x in ratios)
    if n < 3 or sxx <= 0:
        return None
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(ratios, values, strict=True)) / sxx
    intercept = mean_y - slope * mean_x
    residual = sum((y - intercept - slope * x) ** 2 for x, y in zip(ratios, values, strict=True))
    deviation, t = math.sqrt(residual / (n - 2)), t_quantile(_SHARE, n - 2)
    half = t * deviation / math.sqrt(sxx)
    band = []
    for x in sorted(set(ratios)):
        here, off = intercept + slope * x, t * deviation * math.sqrt(1 / n + (x - mean_x) ** 2 / sxx)
        band.append((x, here - off, here, here + off))
    return FittedLine(slope, intercept, (slope - half, slope + half), tuple(band), n)


def t_quantile(share: float, degrees: int) -> float:
    """Return the value that Student's t with this many degrees of freedom does not exceed with probability `share` (0.5 to 1).

    It uses bisection on the distribution's exact finite sums (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 1.0
    while _t_share(high, degrees) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_share(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def _t_share(t: float, degrees: int) -> float:
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(2 + odd, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    if odd:
        inside = 2 / math.pi * (angle + (math.sin(angle) * total if degrees > 1 else 0.0))
    else:
        inside = math.sin(angle) * total
    return 0.5 + inside / 2


#: Jobs in at least this many groups are "Inter-Groups" (De Sensi 2019, figure 7).
SEVERAL_GROUPS = 2


class ModeAdvice(NamedTuple):
    """Recommended routing mode, and the reason; without a mode the data cannot tell and the job keeps its own."""

    mode: str | None
    reason: str


def held_back(observed_groups: int | None, groups: int | None) -> str | None:
    """Return why the mode that network cards favour does not apply to a job in `groups` groups; None if it applies.

    The choice depends on the allocation, so no rule is universal (section 4.2). The paper compares "Intra-Group" and "Inter-Groups" (section 4.1,
    figure 7). Between groups the modes differ in latency, which NICs count. Within a group they have a similar latency and differ in stalls. There
    are few minimal paths there, and a mean over the NICs does not always show the few links that they fill (ADR 0043).

    Parameters
    ----------
    observed_groups : groups of the job whose NICs were observed; None: unknown.
    groups : groups of the job that gets advice; None: unknown.
    """
    if groups is None:
        return "the number of groups of the job is unknown, and the best mode depends on it"
    if groups < SEVERAL_GROUPS:
        return (
            "the job is in one group, where its packets have few shortest paths, and counters of its network cards do not show "
            "whether a mode fills them"
        )
    if observed_groups is None:
        return "the number of groups of the measured job is unknown"
    if observed_groups < SEVERAL_GROUPS:
        return "its network cards were measured within one group, which does not show the behaviour over several groups"
    return None


def advise_mode(favoured: str, why: str, observed_groups: int | None, groups: int | None) -> ModeAdvice:
    """Return the mode that network cards favour if it applies to the job; otherwise no mode, with the reason."""
    against = held_back(observed_groups, groups)
    return ModeAdvice(favoured, why) if against is None else ModeAdvice(None, against)
