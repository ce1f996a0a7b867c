"""Routing advice as a task: `routing.advice` writes a routing mode and a placement class as recommendations."""

from __future__ import annotations

from typing import Any

from flitwatch_db import connect, recommendations
from flitwatch_db.recommendations import Recommendation
from flitwatch_db.tasks import TaskContext
from flitwatch_domain.errors import BadRequest
from flitwatch_simulation.application_aware.advice import (
    DEFAULT_MODE,
    LEVEL,
    ModeChoice,
    PlacementChoice,
    choose_mode,
    choose_placement,
)
from flitwatch_simulation.application_aware.check import CheckedPlacement, checked
from flitwatch_simulation.application_aware.estimator import NicObservation

_COUNTS = ("interval_s", "request_flits", "request_packets", "stalled_cycles", "cumulative_latency_us")
MOST_OBSERVATIONS = 100_000


def advice(args: dict[str, Any], context: TaskContext) -> dict[str, Any]:
    """`routing.advice {application, job?, user?, fabric?, message_bytes, observations: {MODE: [{allocation, interval_s, ...}]}, check?, simulated?}`."""
    observed = _observed(args.get("observations"))
    who = {
        name: _text(args, key)
        for name, key in (("application", "application"), ("job_id", "job"), ("user", "user"), ("fabric", "fabric"))
    }
    if who["application"] is None:
        raise BadRequest("the task needs an application")
    size = args.get("message_bytes", 65_536)
    if isinstance(size, bool) or not isinstance(size, int):
        raise BadRequest(f"message_bytes is {size!r}; expected a whole number")
    simulated = args.get("simulated") is True
    context.report(0, 2, "comparing modes")
    mode = choose_mode(observed, size)
    placement = choose_placement(observed[DEFAULT_MODE])
    tried = _tried(args.get("check"), placement, who, context)
    context.report(1, 2, "writing recommendations")
    with connect(context.dsn, role="writer", application="flitwatch advice") as conn:
        fabric_id = None if who["fabric"] is None else recommendations.fabric_named(conn, who["fabric"])
        common = {**who, "fabric_id": fabric_id, "simulated": simulated}
        first = recommendations.save(conn, _of_mode(mode, size, common, context.task_id))
        second = recommendations.save(conn, _of_placement(placement, tried, len(observed[DEFAULT_MODE]), common))
    return {
        "mode": mode.mode, "factor": mode.factor, "low": mode.low, "high": mode.high, "times_s": mode.times_s, "placement": placement.placement,
        "recommendation_id": first, "placement_recommendation_id": second,
    }  # fmt: skip


def _observed(given: Any) -> dict[str, list[NicObservation]]:
    if not isinstance(given, dict) or not all(isinstance(ones, list) for ones in given.values()):
        raise BadRequest("observations must be an object of lists by routing mode")
    if sum(map(len, given.values())) > MOST_OBSERVATIONS:
        raise BadRequest(f"more than {MOST_OBSERVATIONS:,} observations")
    return {str(mode): [_one(mode, at, one) for at, one in enumerate(ones)] for mode, ones in given.items()}


def _one(mode: str, at: int, one: Any) -> NicObservation:
    where = f"observation {at} of {mode}"
    if not isinstance(one, dict) or set(one) - {*_COUNTS, "allocation"}:
        raise BadRequest(f"{where} must be an object of allocation, {', '.join(_COUNTS)}")
    allocation = one.get("allocation")
    if not isinstance(allocation, list) or not allocation or not all(isinstance(node, str) for node in allocation):
        raise BadRequest(f"{where} needs its allocation: the job's nodes in rank order")
    for name in _COUNTS:
        value = one.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise BadRequest(f"{where}: {name} is {value!r}; expected a number from 0")
    return NicObservation(tuple(allocation), *(one[name] for name in _COUNTS))


def _text(args: dict[str, Any], name: str) -> str | None:
    value = args.get(name)
    if value is not None and (not isinstance(value, str) or not 0 < len(value) <= 200):
        raise BadRequest(f"{name} must be a text of 1 to 200 characters")
    return value


def _of_mode(choice: ModeChoice, size: int, common: dict[str, Any], task_id: int) -> Recommendation:
    application = common["application"]
    span = f"{choice.low:.2f} to {choice.high:.2f} times as fast as {DEFAULT_MODE} ({LEVEL:.0%})"
    if choice.mode is not None:
        title, reason = (
            f"Run {application} with {choice.mode}",
            f"Its messages of {size} bytes would be {span}, by latency and stalls of its NICs.",
        )
    else:
        title = f"Leave {application} on {DEFAULT_MODE}"
        reason = (
            "No mode is faster." if choice.best == DEFAULT_MODE else f"{choice.best} would be {span}: not beyond doubt."
        )
    gain = {
        "factor": choice.factor, "low": choice.low, "high": choice.high, "level": LEVEL, "runs": choice.observations,
        "basis": "message times modelled from NIC latency and stalls under each mode",
    }  # fmt: skip
    detail = {
        "why": [{"text": f"modelled message time under {mode}", "value": time_s * 1e6, "unit": "us"} for mode, time_s in choice.times_s.items()],
        "before": _side(choice.times_s[DEFAULT_MODE], DEFAULT_MODE), "after": _side(choice.times_s[choice.best], choice.best),
        "alternatives": [{"label": mode, "time_s": time_s} for mode, time_s in choice.times_s.items() if mode not in (DEFAULT_MODE, choice.best)],
        "reconstruction": None, "routes": None, "parameters": {"message_bytes": size},
    }  # fmt: skip
    environment = f"MPICH_GNI_ROUTING_MODE={choice.mode or DEFAULT_MODE}"
    return Recommendation(
        "routing_mode", "refused" if choice.mode is None else "recommended", title, reason, detail, gain=gain, environment=environment,
        task_id=task_id, **common,
    )  # fmt: skip


def _tried(options: Any, choice: PlacementChoice, who: dict[str, Any], context: TaskContext) -> CheckedPlacement | None:
    if options is None:
        return None
    if who["fabric"] is None or who["job_id"] is None:
        raise BadRequest("a check needs fabric and job: it simulates a moment of that job's past")
    return checked(choice.placement, who["fabric"], who["job_id"], options, context)


def _of_placement(
    choice: PlacementChoice, tried: CheckedPlacement | None, observations: int, common: dict[str, Any]
) -> Recommendation:
    """Recommended only after a simulation in which it is faster beyond doubt; else refused with the reason."""
    place = "over all groups" if choice.placement == "random-node" else "on neighbouring nodes"
    why = [{"text": "flits sent over what a NIC can send", "value": choice.share, "unit": None}]
    gain = before = after = None
    better = False
    reason = f"It {choice.reason}. Not recommended yet: no simulation has compared it with the nodes that the job held."
    if tried is not None:
        better = tried.low > 1
        span = f"{tried.low:.2f} to {tried.high:.2f} times as fast as on the nodes that it held ({LEVEL:.0%})"
        doubt = "" if better else ": not beyond doubt"
        reason = f"It {choice.reason}. Simulated with {tried.pattern}, it would be {span}{doubt}."
        gain = {
            "factor": tried.factor, "low": tried.low, "high": tried.high, "level": LEVEL, "runs": tried.before_s.size,
            "basis": f"simulated pairs of runs of {tried.pattern} beside the jobs of that moment",
        }  # fmt: skip
        before = _side(float(tried.before_s.mean()), "the nodes that it held")
        after = _side(float(tried.after_s.mean()), choice.placement)
    detail = {
        "why": why, "before": before, "after": after, "alternatives": [], "reconstruction": None, "routes": None,
        "parameters": {"observations": observations},
    }  # fmt: skip
    title = f"Place {common['application']} {place}"
    return Recommendation(
        "placement", "recommended" if better else "refused", title, reason, detail, gain=gain, **common
    )


def _side(time_s: float, label: str) -> dict[str, Any]:
    return {"time_s": time_s, "max_load_bytes": None, "congested_links": None, "label": label}
