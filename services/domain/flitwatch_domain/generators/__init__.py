"""Generated fabrics: published dragonflies, trees, tori and HyperX; all are marked as simulated."""

from flitwatch_domain.generators.dragonfly import (
    build_dragonfly,
    build_theta,
    cori_like,
    edison_like,
    most_blue_routers,
    slingshot_like,
)
from flitwatch_domain.generators.lattice import build_hyperx, build_torus, dimension_order
from flitwatch_domain.generators.tree import build_planes, build_quartz1, build_rails, build_xgft

__all__ = [
    "build_dragonfly",
    "build_hyperx",
    "build_planes",
    "build_quartz1",
    "build_rails",
    "build_theta",
    "build_torus",
    "build_xgft",
    "cori_like",
    "dimension_order",
    "edison_like",
    "most_blue_routers",
    "slingshot_like",
]
