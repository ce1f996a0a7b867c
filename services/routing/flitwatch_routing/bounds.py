"""The bound that hardware-adaptive routing obeys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.tree import as_tree


def adaptive_bound(fabric: Fabric, traffic: tuple[NDArray, NDArray, NDArray]) -> float:
    """z_AR in bytes: the least largest load of a link between switches without the one-port rule (Taffet 2021, section 3.3); intact trees."""
    tree = as_tree(fabric)
    slot = tree.slot_of_endpoint.astype(np.int32)
    src, dst, size = traffic
    return float(routes.adaptive_bound(tree.shape, slot[src], slot[dst], np.asarray(size, float)))
