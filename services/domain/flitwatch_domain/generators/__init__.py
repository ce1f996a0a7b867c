"""Machines by rule: published dragonflies, trees, tori and HyperX; all marked simulated."""

from flitwatch_domain.generators.dragonfly import (
    cori_like,
    dragonfly,
    edison_like,
    most_blue_routers,
    slingshot_like,
    theta,
)
from flitwatch_domain.generators.hyperx import dimension_order, hyperx
from flitwatch_domain.generators.torus import torus
from flitwatch_domain.generators.tree import planes, quartz1, rails, xgft

__all__ = [
    "cori_like",
    "dimension_order",
    "dragonfly",
    "edison_like",
    "hyperx",
    "most_blue_routers",
    "planes",
    "quartz1",
    "rails",
    "slingshot_like",
    "theta",
    "torus",
    "xgft",
]
