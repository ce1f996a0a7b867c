"""Routes for a traffic matrix: the optimiser on a fabric, with its bounds, its tables and its own check of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import check, tables_of
from flitwatch_routing.tree import as_tree

#: watch(seconds, best largest load, moves) -> go on
Watch = Callable[[float, float, int], bool]


@dataclass(frozen=True)
class Routes:
    """Routes and what is known of them; loads in bytes on links between switches.

    z: largest load;  z_ar: the bound without the one-port rule (Taffet 2021, section 3.3; exact on an intact tree);  fixed_bound: a lower bound with
    it, by pigeonholes;  ar_gap = (z - z_ar) / z_ar;  bound_gap = (z - fixed_bound) / fixed_bound;  proven: no routes can be better
    ports (routers, endpoints): the forwarding tables
    """

    z: float
    z_ar: float
    fixed_bound: float
    ar_gap: float
    bound_gap: float
    proven: bool
    worst_links: int
    ftree: float
    random: float
    wall_s: float
    moves: int
    ports: NDArray[np.int64]


def optimise(
    fabric: Fabric,
    traffic: tuple[NDArray, NDArray, NDArray],
    time_limit_s: float = 60.0,
    seed: int = 1,
    watch: Watch | None = None,
) -> Routes:
    """Optimise the tables of a fat tree for a traffic matrix (src, dst, bytes; endpoints from 0); any time, best so far.

    Raises
    ------
    BadInput
        Where the fabric is no such tree, the traffic does not fit it, or failed links part it.
    """
    tree = as_tree(fabric)
    src, dst, size = traffic
    slot = tree.slot_of_endpoint.astype(np.int32)
    if len(src) and (src.max() >= len(slot) or dst.max() >= len(slot) or min(src.min(), dst.min()) < 0):
        raise BadInput(f"traffic names endpoints outside 0 to {len(slot) - 1}")
    try:
        found = routes.optimise(
            tree.shape, slot[src], slot[dst], np.asarray(size, float), tree.failed(), 0.0, time_limit_s, seed, watch
        )
    except ValueError as bad:
        raise BadInput(str(bad)) from bad
    ports = tables_of(tree, found, fabric)
    checked = check(fabric, ports, (src, dst, np.asarray(size, float)))
    if checked.holes:
        raise _parted(fabric, ports)
    between = fabric.router_links()
    z = float(checked.load[between].max()) if between.any() else 0.0
    z_ar, fixed = found["adaptive_bound"], found["fixed_bound"]
    return Routes(
        z=z, z_ar=z_ar, fixed_bound=fixed, ar_gap=_gap(z, z_ar), bound_gap=_gap(z, fixed), proven=z <= fixed * (1 + 1e-6),
        worst_links=int((checked.load[between] >= z * (1 - 1e-6)).sum()), ftree=found["ftree"], random=found["random"],
        wall_s=found["seconds"], moves=found["moves"], ports=ports,
    )  # fmt: skip


def _parted(fabric: Fabric, ports: NDArray[np.int64]) -> BadInput:
    leaves = np.unique(fabric.endpoints.router)
    at, endpoint = (int(first[0]) for first in np.nonzero(ports[leaves] < 0))
    node, leaf = fabric.endpoints.node[endpoint], fabric.routers.name[leaves[at]]
    return BadInput(
        f"the fabric is disconnected: {leaf} has no way up and down to endpoint {endpoint} ({node})",
        advice="Mend its cables, or give the fabric without it",
    )


def _gap(z: float, bound: float) -> float:
    return (z - bound) / bound if bound > 0 else 0.0
