"""Noise estimator from NIC counters (De Sensi 2019, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

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
    interval_s : float
    request_flits, request_packets, stalled_cycles : int
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


def message_time_without_window_s(size_bytes: int, latency_cycles: float, stalls_per_flit: float) -> float:
    """Return equation 1: T = L / 2 + f (s + 1), without the cost of the window of 1,024 packets, for a PUT of 64-byte packets."""
    flits = -(-size_bytes // 64) - (-size_bytes // 16)
    return (latency_cycles / 2 + flits * (stalls_per_flit + 1)) / NIC_HZ


def quartile_dispersion(values: Sequence[float]) -> float:
    """Return QCD = (Q3 - Q1) / (Q3 + Q1)."""
    first, third = np.percentile(np.asarray(values, float), [25, 75])
    return float((third - first) / (third + first)) if third + first else 0.0
