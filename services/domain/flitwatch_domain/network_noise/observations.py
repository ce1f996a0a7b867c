"""The noise estimator: what NIC counters say of the network, and when they must not be compared (De Sensi 2019, section 3)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest

Floats = NDArray[np.float64]

#: Clock of an Aries NIC.
NIC_HZ = 800e6
#: A 16-byte flit a cycle is what a NIC can take; above this part of it a job is communication-intensive (our cut: the study ranks three applications
#: by bytes sent over time and gives no number).
INTENSIVE_SHARE = 0.05


class NoiseWarning(UserWarning):
    """A comparison is allowed, but one of the paper's guidelines speaks against it."""


@dataclass(frozen=True)
class NicObservation:
    """Counters of one NIC over one interval.

    Attributes
    ----------
    allocation : tuple of str
        The job's nodes in rank order.
    interval_s : float
    request_flits, request_packets, stalled_cycles : int
    cumulative_latency_us : float
        As the counter has it: microseconds over all request-response pairs.
    """

    allocation: tuple[str, ...]
    interval_s: float
    request_flits: int
    request_packets: int
    stalled_cycles: int
    cumulative_latency_us: float

    @property
    def latency_cycles(self) -> float:
        """L: mean request-to-response time in NIC cycles; NaN without a packet."""
        if not self.request_packets:
            return float("nan")
        return self.cumulative_latency_us * 1e-6 * NIC_HZ / self.request_packets

    @property
    def stalls_per_flit(self) -> float:
        """s: stalled cycles per request flit; NaN without a flit."""
        return self.stalled_cycles / self.request_flits if self.request_flits else float("nan")

    @property
    def flits_per_s(self) -> float:
        """Flits over the observation's length: what may be compared between intervals."""
        return self.request_flits / self.interval_s


@overload
def transmission_time_s(packets: float, flits: float, latency_cycles: float, stalls_per_flit: float) -> float: ...
@overload
def transmission_time_s(packets: Floats, flits: Floats, latency_cycles: Floats, stalls_per_flit: Floats) -> Floats: ...
def transmission_time_s(packets: Any, flits: Any, latency_cycles: Any, stalls_per_flit: Any) -> Any:
    """Equation 2: T = (p + 512) / 1024 * L + f (s + 1), in seconds; numbers, or arrays of one shape."""
    return ((packets + 512) / 1024 * latency_cycles + flits * (stalls_per_flit + 1)) / NIC_HZ


def message_time_s(size_bytes: int, latency_cycles: float, stalls_per_flit: float) -> float:
    """Equation 2 for a PUT of 64-byte packets."""
    packets = -(-size_bytes // 64)
    flits = packets - (-size_bytes // 16)
    return transmission_time_s(packets, flits, latency_cycles, stalls_per_flit)


def message_time_without_window_s(size_bytes: int, latency_cycles: float, stalls_per_flit: float) -> float:
    """Equation 1: T = L / 2 + f (s + 1), which charges nothing for the window of 1,024 packets; a PUT of 64-byte packets."""
    flits = -(-size_bytes // 64) - (-size_bytes // 16)
    return (latency_cycles / 2 + flits * (stalls_per_flit + 1)) / NIC_HZ


def quartile_dispersion(values: Sequence[float]) -> float:
    """QCD = (Q3 - Q1) / (Q3 + Q1)."""
    first, third = np.percentile(np.asarray(values, float), [25, 75])
    return float((third - first) / (third + first)) if third + first else 0.0


def compare_counters(before: NicObservation, after: NicObservation, counter: str) -> float:
    """Ratio after / before of `latency_cycles`, `stalls_per_flit`, `flits_per_s` or, with a warning, of raw `request_flits`.

    Raises
    ------
    BadRequest
        Where the allocations differ (guideline 1), or a raw count is compared between intervals of different length (guideline 2): a job that
        idles twice as long sees twice the flits.
    """
    if before.allocation != after.allocation:
        raise BadRequest(
            "the observations come from different allocations, so a difference says nothing about noise",
            advice="Compare within one job, alternating what is compared.",
        )
    if min(before.interval_s, after.interval_s) <= 0:
        raise BadRequest("an observation has no duration")
    if counter in ("request_flits", "request_packets", "stalled_cycles"):
        ratio = after.interval_s / before.interval_s
        if not 0.95 < ratio < 1.05:
            raise BadRequest(
                f"{counter} of intervals of {before.interval_s:g} s and {after.interval_s:g} s cannot be compared",
                advice="Divide by the interval (flits_per_s), or use latency_cycles and stalls_per_flit.",
            )
        warnings.warn(f"{counter} also grows with delays that are not the network's", NoiseWarning, stacklevel=2)
    elif counter not in ("latency_cycles", "stalls_per_flit", "flits_per_s"):
        raise BadRequest(f"unknown counter {counter!r}")
    low, high = float(getattr(before, counter)), float(getattr(after, counter))
    return high / low if low else float("nan")


def estimate_noise(
    times_s: Sequence[float], observations: Sequence[NicObservation], size_bytes: int
) -> dict[str, float]:
    """Dispersion of measured times alongside that of the times which the NIC counters predict.

    The measured dispersion also holds what is not the network's (guideline 3): the network's share is the predicted one.

    Raises
    ------
    BadRequest
        For fewer than four observations, other lengths or different allocations.
    """
    if len(times_s) != len(observations) or len(times_s) < 4:
        raise BadRequest("noise needs at least four times with their observations")
    if len({observation.allocation for observation in observations}) != 1:
        raise BadRequest("the observations come from different allocations", advice="Compare within one job.")
    predicted = [
        message_time_s(size_bytes, observation.latency_cycles, observation.stalls_per_flit)
        for observation in observations
    ]
    return {
        "measured_qcd": quartile_dispersion(times_s),
        "network_qcd": quartile_dispersion(predicted),
        "latency_qcd": quartile_dispersion([observation.latency_cycles for observation in observations]),
        "mean_latency_cycles": float(np.mean([observation.latency_cycles for observation in observations])),
        "mean_stalls_per_flit": float(np.mean([observation.stalls_per_flit for observation in observations])),
    }
