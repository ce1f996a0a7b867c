"""Routing advice: a job's routing mode from its NIC counters and a placement class from its sent traffic (De Sensi 2019), as the task `routing.advice`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_db import connect
from flitwatch_db.estimates import recommendations
from flitwatch_db.estimates.advice import SENT_SHARE
from flitwatch_db.estimates.recommendations import Recommendation
from flitwatch_db.jobs.as_of import job_at
from flitwatch_db.jobs.network_cards import groups_of, load_observations
from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.network_noise.observations import (
    INTENSIVE_SHARE,
    NIC_HZ,
    NicObservation,
    held_back,
    message_time_s,
)
from flitwatch_domain.task_models.machines import AS_IT_WAS
from flitwatch_domain.task_models.routes import Advice, Check, Observation
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


class AdviceResult(TypedDict):
    """The recommended mode and placement, with the mode's factor and interval, and the ids of the stored recommendations.

    `groups`: number of groups of the job whose NICs were read; None: unknown.
    """

    mode: str | None
    groups: int | None
    factor: float
    low: float | None
    high: float | None
    times_s: dict[str, float]
    placement: str
    recommendation_id: int
    placement_recommendation_id: int


def advise_routing(args: dict[str, Any], context: TaskContext) -> AdviceResult:
    """Run `routing.advice {application, job?, user?, fabric?, message_bytes, observations | intervals: {MODE: [{...}]}, check?, simulated?}`."""
    request = Advice.of(args)
    observed = _collect_observations(request, context)
    who = {"application": request.application, "job_id": request.job, "user": request.user, "fabric": request.fabric}
    size = request.message_bytes
    context.report(0, 2, "comparing modes")
    mode = choose_mode(observed, size)
    placement = choose_placement(observed[DEFAULT_MODE])
    tried = None
    if request.check is not None:
        assert request.fabric is not None and request.job is not None
        tried = check_placement(placement.placement, request.fabric, request.job, request.check, context)
    context.report(1, 2, "writing recommendations")
    with connect(context.dsn, role="writer", application="flitwatch advice") as conn:
        fabric_id = None if request.fabric is None else recommendations.fabric_named(conn, request.fabric)
        common = {
            **who,
            "fabric_id": fabric_id,
            "simulated": request.simulated,
            "figures": "simulated" if request.simulated else "given" if request.intervals is None else "counted",
            "task_id": context.task_id,
        }
        groups = groups_of(conn, observed[DEFAULT_MODE][0].allocation, fabric_id)
        first = recommendations.save_recommendation(conn, _of_mode(mode, size, groups, common))
        second = recommendations.save_recommendation(
            conn, _of_placement(placement, tried, len(observed[DEFAULT_MODE]), common)
        )
    return {
        "mode": None if held_back(groups, groups) is not None else mode.mode,
        "groups": groups,
        "factor": mode.factor,
        "low": mode.low,
        "high": mode.high,
        "times_s": mode.times_s,
        "placement": placement.placement,
        "recommendation_id": first,
        "placement_recommendation_id": second,
    }


def _collect_observations(asked: Advice, context: TaskContext) -> dict[str, list[NicObservation]]:
    """Return the given observations, or those from the counters of the job's network cards."""
    if asked.observations is not None:
        return {str(mode): [_nic_observation(item) for item in ones] for mode, ones in asked.observations.items()}
    assert asked.intervals is not None and asked.job is not None
    with connect(context.dsn, role="reader", application="flitwatch advice") as conn:
        job = job_at(conn, asked.job, None, time.time())
        end_s = time.time() if job["end_s"] is None else job["end_s"]
        return {
            str(mode): load_observations(
                conn, job["job_pk"], job["start_s"] or end_s, end_s, [(item.from_s, item.to_s) for item in ones]
            )
            for mode, ones in asked.intervals.items()
        }


def _nic_observation(one: Observation) -> NicObservation:
    return NicObservation(
        tuple(one.allocation),
        one.interval_s,
        one.request_flits,
        one.request_packets,
        one.stalled_cycles,
        one.cumulative_latency_us,
    )


def _of_mode(choice: ModeChoice, size: int, groups: int | None, common: dict[str, Any]) -> Recommendation:
    """Return the recommendation of the mode favoured by network cards; `routing_modes`, also used by advice answers, decides whether it applies."""
    application = common["application"]
    against = None if choice.mode is None else held_back(groups, groups)
    span = f"{choice.low:.2f} to {choice.high:.2f} times as fast as {DEFAULT_MODE} ({LEVEL:.0%})"
    if against is not None:
        title, reason = f"Leave {application} on {DEFAULT_MODE}", f"{choice.mode} looks {span}, but {against}."
    elif choice.mode is not None:
        title, reason = (
            f"Run {application} with {choice.mode} if it is in several groups",
            f"Its messages of {size} bytes would be {span}according to latency and stalls of its NICs, and it sent {choice.pace_low:.2f} to"
            f" {choice.pace_high:.2f} times as many flits per second. Within one group leave {DEFAULT_MODE}.",
        )
    else:
        title = f"Leave {application} on {DEFAULT_MODE}"
        reason = _why_not(choice, span)
    gain = {
        "factor": choice.factor,
        "low": choice.low,
        "high": choice.high,
        "level": LEVEL,
        "runs": choice.observations,
        "basis": "message times modelled from NIC latency and stalls under each mode",
    }
    detail = {
        "why": [
            {"text": f"modelled message time under {mode}", "value": time_s * 1e6, "unit": "us"}
            for mode, time_s in choice.times_s.items()
        ]
        + [
            {
                "text": f"flits per second with {choice.best}, divided by those with {DEFAULT_MODE}",
                "value": choice.pace,
                "unit": None,
            }
        ],
        "before": _time_side(choice.times_s[DEFAULT_MODE], DEFAULT_MODE),
        "after": _time_side(choice.times_s[choice.best], choice.best),
        "alternatives": [
            {"label": mode, "time_s": time_s}
            for mode, time_s in choice.times_s.items()
            if mode not in (DEFAULT_MODE, choice.best)
        ],
        "reconstruction": None,
        "routes": None,
        "parameters": {"message_bytes": size, "groups": groups},
    }
    environment = None if against is not None else f"MPICH_GNI_ROUTING_MODE={choice.mode or DEFAULT_MODE}"
    return Recommendation(
        "routing_mode",
        "refused" if choice.mode is None or against is not None else "recommended",
        title,
        reason,
        detail,
        gain=gain,
        environment=environment,
        **common,
    )


def _why_not(choice: ModeChoice, span: str) -> str:
    if choice.best == DEFAULT_MODE:
        return "No mode is faster."
    if choice.low <= 1:
        return f"{choice.best} would be {span}: not certain."
    return (
        f"According to latency and stalls of its NICs, {choice.best} would be {span}, but the job sent {choice.pace_low:.2f} to {choice.pace_high:.2f}"
        f" times as many flits per second with it: it is not certain that it runs faster."
    )


def _of_placement(
    choice: PlacementChoice, tried: CheckedPlacement | None, observations: int, common: dict[str, Any]
) -> Recommendation:
    """Return the recommendation of a placement if a simulation shows that it is significantly faster; else a refusal with the reason."""
    place = "over all groups" if choice.placement == "random-node" else "on neighbouring nodes"
    why = [{"text": SENT_SHARE, "value": choice.share, "unit": None}]
    gain = before = after = None
    better = False
    reason = f"It {choice.reason}. Not recommended yet: no simulation has compared it with the job's own nodes."
    if tried is not None:
        better = tried.low > 1
        span = f"{tried.low:.2f} to {tried.high:.2f} times as fast as on its own nodes ({LEVEL:.0%})"
        doubt = "" if better else ": not certain"
        reason = f"It {choice.reason}. Simulated with {tried.pattern}, it would be {span}{doubt}."
        gain = {
            "factor": tried.factor,
            "low": tried.low,
            "high": tried.high,
            "level": LEVEL,
            "runs": tried.before_s.size,
            "basis": f"simulated pairs of runs of {tried.pattern} alongside the jobs of that moment",
        }
        before = _time_side(float(tried.before_s.mean()), "its own nodes")
        after = _time_side(float(tried.after_s.mean()), choice.placement)
    detail = {
        "why": why,
        "before": before,
        "after": after,
        "alternatives": [],
        "reconstruction": None,
        "routes": None,
        "parameters": {"observations": observations},
    }
    title = f"Place {common['application']} {place}"
    return Recommendation(
        "placement", "recommended" if better else "refused", title, reason, detail, gain=gain, **common
    )


def _time_side(time_s: float, label: str) -> recommendations.RouteOutcome:
    return {"time_s": time_s, "max_load_bytes": None, "congested_links": None, "label": label}
