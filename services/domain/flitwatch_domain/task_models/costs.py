"""What a task needs, estimated from its arguments before anything is stored, and what each role may ask for.

The worker limits memory, time and files of what runs (`flitwatch_db.tasks.process`); this keeps out what would only be ended there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from flitwatch_domain.errors import TooCostly

#: Nodes of the machines that have names.
NAMED_NODES = {"theta": 3_456, "edison": 5_760, "cori": 13_056, "slingshot": 2_048, "quartz1": 3_072}
#: Messages that a rank sends in patterns other than all-to-all: neighbours and rounds.
MESSAGES_A_RANK = 64
#: Patterns in which every rank has something for every other.
_TO_ALL = {"alltoall", "pairwise-alltoall", "ring"}


@dataclass(frozen=True)
class Limits:
    """The most that a role may ask for in one task; `work` is messages of one run times runs, at flow level."""

    nodes: int
    runs: int
    threads: int
    messages: int
    packets: int
    work: int


_USER = Limits(nodes=100_000, runs=100_000, threads=8, messages=2_000_000, packets=10**9, work=10**10)
_OPERATOR = Limits(nodes=1_000_000, runs=1_000_000, threads=64, messages=50_000_000, packets=10**10, work=10**11)
#: An admin is held by the worker's limits alone.
LIMITS = {"anonymous": _USER, "viewer": _USER, "user": _USER, "service": _OPERATOR, "operator": _OPERATOR}


def check_cost(role: str, name: str, args: dict[str, Any]) -> None:
    """Refuse a task that needs more than the role's limit.

    Raises
    ------
    TooCostly
        Saying what it needs and what the limit is.
    """
    limits = LIMITS.get(role)
    if limits is None:
        return
    needs = needs_of(name, args)
    for one in fields(Limits):
        need, limit = needs.get(one.name, 0.0), getattr(limits, one.name)
        if need > limit:
            raise TooCostly(
                f"this needs {_number(need)} {one.name}, your limit is {limit:,}",
                advice="Ask for a smaller machine, fewer runs or fewer messages, or ask an operator.",
            )


def needs_of(name: str, args: dict[str, Any]) -> dict[str, float]:
    """The fields of `Limits` that a task's arguments need; what cannot be estimated is left out."""
    # Studies name machines under keys of their own, so that every text is looked at.
    nodes = max((nodes_of(text) for _, text in _leaves(args) if isinstance(text, str)), default=0.0)
    needs = {"nodes": nodes, "runs": _most(args, "runs"), "threads": _most(args, "threads")}
    if name == "sim.collective":
        needs["work"] = _messages(str(args.get("pattern", "")), nodes) * float(args.get("runs", 1_000))
    if name == "sim.packet":
        size = float(args.get("packet_bytes", 2_048))
        jobs = args.get("jobs") or [
            {"pattern": args.get("traffic"), "ranks": args.get("ranks"), "bytes": args.get("bytes")}
        ]
        ranks = [min(float(one.get("ranks") or nodes), nodes) for one in jobs]
        scale = float(args.get("message_scale", 1.0))
        needs["messages"] = sum(
            _messages(str(one["pattern"]).partition(":")[0], count) for one, count in zip(jobs, ranks, strict=True)
        )
        needs["packets"] = sum(
            max(count, 1) * float(one.get("bytes") or 0) * max(scale, 1.0) / size
            for one, count in zip(jobs, ranks, strict=True)
        )
    return needs


def nodes_of(topology: str) -> float:
    """Nodes of a generated machine, 0 for one that is not known; beyond what a number holds, infinite."""
    kind, _, rest = topology.partition(":")
    if not rest:
        return float(NAMED_NODES.get(kind, 0))
    try:
        if kind == "torus":
            return _product(rest)
        if kind == "xgft":
            return _product(rest.split(";")[1])
        if kind == "dragonfly":
            return _product(",".join(rest.split(",")[:3])) * 4
    except (IndexError, ValueError):
        return 0.0
    return 0.0


def _product(numbers: str) -> float:
    return float(math.prod(float(one) for one in numbers.split(",")))


def _messages(pattern: str, ranks: float) -> float:
    return ranks * (ranks if pattern in _TO_ALL else MESSAGES_A_RANK)


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every text and number of nested arguments, with the key of the innermost mapping that holds it."""
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _leaves(one, inner)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, key)
    else:
        yield key, value


def _most(args: dict[str, Any], name: str) -> float:
    """The largest number under a key; 0 without one."""
    return max(
        (float(value) for key, value in _leaves(args) if key == name and isinstance(value, (int, float))), default=0.0
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e15 else f"{value:.3g}"
