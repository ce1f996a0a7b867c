"""Cost of a task, estimated from its arguments before anything is stored, and the limits of each role.

The worker limits memory, time and files of running tasks (`flitwatch_db.tasks.process`). This check rejects tasks that would only be ended there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from flitwatch_domain.errors import TooCostly
from flitwatch_domain.task_models.applications import background_packets, exchange_s, messages_of
from flitwatch_domain.task_models.base import nodes_of
from flitwatch_domain.task_models.study_costs import needs_of_study

Needs = dict[str, float]


@dataclass(frozen=True)
class Limits:
    """Limits of a role for one task.

    Attributes
    ----------
    messages : int
        Messages of one packet-level run, which are held in memory.
    simulations : int
        Packet-level runs.
    packets : int
        Packets of all runs together, including background traffic.
    work : int
        Messages of one run times runs, over all points, at flow level.
    seconds : int
        Time limit of optimisers and reconstructions.
    """

    nodes: int
    runs: int
    threads: int
    simulations: int
    messages: int
    packets: int
    work: int
    seconds: int


_USER = Limits(
    nodes=100_000,
    runs=100_000,
    threads=8,
    simulations=2_000,
    messages=2_000_000,
    packets=2 * 10**9,
    work=10**10,
    seconds=7_200,
)
_OPERATOR = Limits(
    nodes=1_000_000,
    runs=1_000_000,
    threads=64,
    simulations=20_000,
    messages=50_000_000,
    packets=10**10,
    work=10**11,
    seconds=86_400,
)
#: An admin has only the worker's limits.
LIMITS = {"anonymous": _USER, "viewer": _USER, "user": _USER, "service": _OPERATOR, "operator": _OPERATOR}


def check_cost(role: str, name: str, args: dict[str, Any]) -> None:
    """Reject a task that needs more than the role's limit. Raise TooCostly; the message gives the need and the limit."""
    limits = LIMITS.get(role)
    if limits is None:
        return
    needs = needs_of(name, args)
    for limit_field in fields(Limits):
        need, limit = needs.get(limit_field.name, 0.0), getattr(limits, limit_field.name)
        if need > limit:
            raise TooCostly(
                f"this needs {_format_number(need)} {limit_field.name}, your limit is {limit:,}",
                advice="Ask for a smaller machine, fewer runs or fewer messages, or ask an operator.",
            )


def needs_of(name: str, args: dict[str, Any]) -> Needs:
    """Return the fields of `Limits` that a task's arguments need; unknown needs are omitted."""
    match name:
        case "sim.study":
            return needs_of_study(str(args["study"]), args.get("parameters", {}))
        case "sim.collective":
            return _collective_needs(args)
        case "sim.packet":
            return _packet_needs(args)
        case "sim.whatif":
            return _past_needs(args, len(args.get("placements", "xx")) * len(args.get("routings", "xx")))
        case "routing.advice" if args.get("check"):
            return _past_needs(args["check"], 2)
        case "routing.loop" | "routing.reconstruct" | "routing.optimise":
            return _loop_needs(args)
        case _:
            return {}


def _collective_needs(args: dict[str, Any]) -> Needs:
    nodes, runs = nodes_of(args["topology"]), float(args.get("runs", 1_000))
    work = messages_of(args.get("pattern", "binomial-bcast"), nodes) * runs
    return {"nodes": nodes, "runs": runs, "threads": float(args.get("threads", 1)), "work": work}


def _packet_needs(args: dict[str, Any]) -> Needs:
    nodes, size = nodes_of(args["topology"]), float(args.get("packet_bytes", 2_048))
    jobs = args.get("jobs") or [
        {"pattern": args.get("traffic"), "ranks": args.get("ranks"), "bytes": args.get("bytes")}
    ]
    scale = max(float(args.get("message_scale", 1.0)), 1.0)
    threads = float(args.get("threads") or 1)
    needs = {"nodes": nodes, "threads": threads, "simulations": 1.0, "messages": 0.0, "packets": 0.0}
    ranks_in_all, longest_s = 0.0, 0.0
    for job in jobs:
        ranks = min(float(job.get("ranks") or nodes), nodes)
        volume = float(job.get("bytes") or 0) * scale
        needs["messages"] += messages_of(str(job["pattern"]).partition(":")[0], ranks, volume)
        needs["packets"] += max(ranks, 1) * max(volume / size, 1)
        ranks_in_all, longest_s = ranks_in_all + ranks, max(longest_s, exchange_s(volume))
    kind, _, load = str(args.get("background", "none")).partition(":")
    if kind != "none":
        free = max(nodes - ranks_in_all, 0.0)
        needs["packets"] += background_packets(free, float(load or 1.0), longest_s, size)
    return needs


def _past_needs(args: dict[str, Any], variants: int) -> Needs:
    """Return the needs of simulating a past moment. The database knows the job's ranks; at least two of them send."""
    runs = float(variants * args.get("seeds", 5))
    volume, size = float(args.get("bytes", 100_000)), float(args.get("packet_bytes", 2_048))
    messages = messages_of(args.get("pattern", "stencil3d"), 2, volume)
    return {"simulations": runs, "messages": messages, "packets": runs * 2 * max(volume / size, 1)}


def _loop_needs(args: dict[str, Any]) -> Needs:
    nodes, epochs = nodes_of(args.get("topology", "quartz1")), float(args.get("epochs", 1))
    volume = float(args.get("megabytes", 10.0)) * 1e6
    # Traffic is simulated with the routes before and after.
    simulations = epochs + 1
    packets = simulations * nodes * max(volume / float(args.get("packet_bytes", 4_096)), 1)
    seconds = epochs * float(args.get("time_limit_s") or args.get("optimise_s", 30.0)) + float(
        args.get("reconstruct_s", 900.0)
    )
    messages = messages_of(args["pattern"], nodes, volume)
    return {"nodes": nodes, "simulations": simulations, "messages": messages, "packets": packets, "seconds": seconds}


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e15 else f"{value:.3g}"
