"""Number of nodes of a machine in a request."""

from __future__ import annotations

import math

#: Nodes of machines with a name.
NAMED_NODES = {"theta": 3_456, "edison": 5_760, "cori": 13_056, "slingshot": 2_048, "quartz1": 3_072}


def nodes_of(topology: str) -> float:
    """Return the nodes of a generated machine: 0 for an unknown one, infinity if the number is too large."""
    kind, _, rest = topology.partition(":")
    if not rest:
        return float(NAMED_NODES.get(kind, 0))
    try:
        if kind == "torus":
            return _multiply_numbers(rest)
        if kind == "xgft":
            return _multiply_numbers(rest.split(";")[1])
        if kind == "hyperx":
            sizes, ends, *_ = rest.split(";")
            return _multiply_numbers(sizes) * float(ends)
        if kind == "rails":
            return _multiply_numbers(",".join(rest.split(",")[:3]))
        if kind == "planes":
            return _multiply_numbers(rest.split(";")[2])
        if kind == "dragonfly":
            return _multiply_numbers(",".join(rest.split(",")[:3])) * 4
    except (IndexError, ValueError):
        return 0.0
    return 0.0


def _multiply_numbers(numbers: str) -> float:
    return float(math.prod(float(number) for number in numbers.split(",")))
