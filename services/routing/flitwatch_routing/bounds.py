"""Lower bounds on the largest load of a link between switches, of the fabric that is there: failed cables and missing switches count."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.adaptive import Watch, least_load
from flitwatch_routing.tree import Tree, as_tree

#: Seconds that the linear program of a broken tree may take: quartz1 with 1 % of its cables gone needs 5.
LIMIT_S = 120.0
Traffic = tuple[NDArray, NDArray, NDArray]


@dataclass(frozen=True)
class Bounds:
    """Bytes of the busiest link between switches, at least.

    z_ar: without the one-port rule, as hardware-adaptive routing may spread (Taffet 2021, section 3.3);  exact: it is that optimum, and not only below it
    fixed: with the rule, by pigeonholes of leaves' entries; infinite (as z_ar) where failed cables part leaves that communicate
    """

    z_ar: float
    fixed: float
    exact: bool


def bounds(fabric: Fabric, traffic: Traffic, time_limit_s: float = LIMIT_S, watch: Watch | None = None) -> Bounds:
    """Bounds for traffic (src, dst, bytes; endpoints from 0): closed forms on an intact tree, else a linear program as well.

    Raises
    ------
    BadInput
        Where the fabric is no fat tree.
    """
    return bounds_of(as_tree(fabric), traffic, time_limit_s, watch)


def unit_of(size: NDArray) -> float:
    """What the core counts bytes in, as it does so in single precision: a power of two, so that nothing is rounded on the way."""
    return math.ldexp(1.0, math.frexp(float(size.max(initial=0)) or 1.0)[1])


def bounds_of(tree: Tree, traffic: Traffic, time_limit_s: float = LIMIT_S, watch: Watch | None = None) -> Bounds:
    """`bounds` of a fabric that is laid out already."""
    slot = tree.slot_of_endpoint.astype(np.int32)
    src, dst, size = slot[traffic[0]], slot[traffic[1]], np.asarray(traffic[2], float)
    unit = unit_of(size)
    even, fixed = routes.bounds(tree.shape, src, dst, size / unit, tree.failed())
    if math.isinf(even) or tree.intact():
        return Bounds(even * unit, fixed * unit, exact=True)
    hosts, leaves = tree.shape[2], tree.shape[0] * tree.shape[1]
    demand = np.zeros((leaves, leaves))
    np.add.at(demand, (src // hosts, dst // hosts), size / unit)
    np.fill_diagonal(demand, 0.0)
    linear, exact = least_load(tree, demand, time_limit_s, watch)
    z_ar = max(even, linear)
    return Bounds(z_ar * unit, max(fixed, z_ar) * unit, exact)
