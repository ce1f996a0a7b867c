"""Choice of a job's routing mode from its NIC counters, and of a placement class from its sent traffic, with unknown values marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import INTENSIVE_SHARE, NIC_HZ, NicObservation, message_time_s
from flitwatch_domain.task_models.machines import AS_IT_WAS
from flitwatch_domain.task_models.routes import Check
from flitwatch_simulation.whatif import simulate_whatif


@dataclass(frozen=True)
class CheckedPlacement:
    """Times in s by seed, for the old and the new placement; factor = mean before / mean after, with its interval at `LEVEL`."""

    before_s: NDArray[np.float64]
    after_s: NDArray[np.float64]
    factor: float
    low: float
    high: float
    pattern: str


def check_placement(placement: str, fabric: str, job: str, asked: Check, context: TaskContext) -> CheckedPlacement:
    """Simulate `job` on its own nodes and in a new placement, with the same seeds. Raise BadRequest or NotFound; see `sim.whatif`. Raise Cancelled."""
    options = asked.model_dump(exclude={"routing"})
    variants = {"placements": [AS_IT_WAS, placement], "routings": [asked.routing]}
    result = simulate_whatif({**options, "fabric": fabric, "job": job, **variants}, context)
    before, after = (np.asarray(variant["time_s"], dtype=np.float64) for variant in result["variants"])
    return CheckedPlacement(before, after, *_mean_ratio(before, after), pattern=result["pattern"])


def _mean_ratio(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the ratio of the means with its bootstrap interval over paired seeds; equal runs have equal ends."""
    drawn = np.random.default_rng(1).integers(0, before.size, (DRAWS, before.size))
    low, high = np.quantile(before[drawn].mean(axis=1) / after[drawn].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(before.mean() / after.mean()), float(low), float(high)


#: MPICH's modes, including the default.
MODES = ("ADAPTIVE_0", "ADAPTIVE_1", "ADAPTIVE_2", "ADAPTIVE_3", "IN_ORDER", "MIN_HASH", "NMIN_HASH")
DEFAULT_MODE = "ADAPTIVE_0"
#: With fewer observations of a mode there is no interval.
LEAST_OBSERVATIONS = 4
LEVEL, DRAWS = 0.9, 2000


@dataclass(frozen=True)
class ModeChoice:
    """mode: None if no mode is significantly better;  factor, low, high: time under the default over time under the best;  times_s: by mode

    pace, pace_low, pace_high: flits per second under the best over those under the default, the job's speed-up.
    """

    mode: str | None
    best: str
    factor: float
    low: float
    high: float
    observations: int
    times_s: dict[str, float]
    pace: float
    pace_low: float
    pace_high: float


def choose_mode(observed: Mapping[str, Sequence[NicObservation]], message_bytes: int) -> ModeChoice:
    """Return the mode with the least modelled message time (De Sensi 2019, equation 2), and its gain with a 90 % bootstrap interval over observations.

    The mode is chosen only if the job was also significantly faster under it. Equation 2 uses means over messages and NICs, but a job waits for its
    slowest message. If modes alternate within one allocation, the job's own pace can be compared (section 5.1). An iteration sends the same flits
    under every mode, so flits per second measure that pace. Raise BadRequest if modes are unknown, the default is missing, there are too few
    observations, or observations have different allocations or no traffic.
    """
    _check_observations(observed, message_bytes)
    times = {
        mode: np.array(
            [message_time_s(message_bytes, sample.latency_cycles, sample.stalls_per_flit) for sample in ones]
        )
        for mode, ones in observed.items()
    }
    means = {mode: float(values.mean()) for mode, values in times.items()}
    best = min(means, key=lambda mode: (means[mode], mode))
    rng = np.random.default_rng(1)
    before, after = (rng.choice(times[mode], (DRAWS, len(times[mode]))).mean(axis=1) for mode in (DEFAULT_MODE, best))
    ratios = before / after if best != DEFAULT_MODE else np.ones(1)
    paces = {mode: np.array([sample.flits_per_s for sample in observed[mode]]) for mode in (DEFAULT_MODE, best)}
    slow, fast = (rng.choice(paces[mode], (DRAWS, len(paces[mode]))).mean(axis=1) for mode in (DEFAULT_MODE, best))
    gains = fast / slow if best != DEFAULT_MODE else np.ones(1)
    (low, high), (pace_low, pace_high) = (
        np.quantile(sample, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) for sample in (ratios, gains)
    )
    better = best != DEFAULT_MODE and low > 1 and pace_low > 1
    return ModeChoice(
        best if better else None,
        best,
        means[DEFAULT_MODE] / means[best],
        float(low),
        float(high),
        sum(map(len, observed.values())),
        means,
        float(paces[best].mean() / paces[DEFAULT_MODE].mean()),
        float(pace_low),
        float(pace_high),
    )


def _check_observations(observed: Mapping[str, Sequence[NicObservation]], message_bytes: int) -> None:
    unknown = set(observed) - set(MODES)
    if unknown:
        raise BadRequest(f"unknown routing mode {min(unknown)!r}", advice=f"Use {', '.join(MODES)}")
    if DEFAULT_MODE not in observed or len(observed) < 2:
        raise BadRequest(f"the choice needs observations under {DEFAULT_MODE} and under another mode")
    if message_bytes < 1:
        raise BadRequest(f"message_bytes is {message_bytes}; expected at least 1")
    for mode, ones in observed.items():
        if len(ones) < LEAST_OBSERVATIONS:
            raise BadRequest(f"{mode} has {len(ones)} observations; an interval needs {LEAST_OBSERVATIONS}")
        if not all(
            observation.request_flits > 0 and observation.request_packets > 0 and observation.interval_s > 0
            for observation in ones
        ):
            raise BadRequest(f"an observation of {mode} has no requests or no duration")
        if any(min(observation.stalled_cycles, observation.cumulative_latency_us) < 0 for observation in ones):
            raise BadRequest(f"an observation of {mode} has a negative counter")
    if len({observation.allocation for ones in observed.values() for observation in ones}) != 1:
        raise BadRequest(
            "the observations come from different allocations", advice="Alternate the modes within one job"
        )


@dataclass(frozen=True)
class PlacementChoice:
    """placement: random-node or contiguous;  share: sent flits over the NIC's capacity"""

    placement: str
    share: float
    reason: str


def choose_placement(observations: Sequence[NicObservation]) -> PlacementChoice:
    """Return a placement: spread over the groups for much communication, contiguous for little (Wang 2018, section IV)."""
    if not observations:
        raise BadRequest("a placement needs at least one observation")
    share = float(np.mean([observation.flits_per_s for observation in observations]) / NIC_HZ)
    if share >= INTENSIVE_SHARE:
        return PlacementChoice(
            "random-node", share, "sends much: if it is spread over the groups, it balances its load over global links"
        )
    return PlacementChoice(
        "contiguous", share, "sends little: if it is kept together, it shares fewer links with jobs that send much"
    )
