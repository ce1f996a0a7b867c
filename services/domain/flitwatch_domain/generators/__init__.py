"""Machines by rule: published dragonflies, trees and tori; all marked simulated."""

from flitwatch_domain.generators.dragonfly import (
    cori_like,
    dragonfly,
    edison_like,
    most_blue_routers,
    slingshot_like,
    theta,
)
from flitwatch_domain.generators.torus import torus
from flitwatch_domain.generators.tree import quartz1, xgft

__all__ = [
    "cori_like",
    "dragonfly",
    "edison_like",
    "most_blue_routers",
    "quartz1",
    "slingshot_like",
    "theta",
    "torus",
    "xgft",
]
