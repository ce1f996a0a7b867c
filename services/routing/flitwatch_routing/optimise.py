"""Routes for a traffic matrix: the optimiser on a fabric, with its bounds, its tables and its own check of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import ROUNDING, bounds_of, gap, unit_of
from flitwatch_routing.forwarding import check, choices_of, kept, tables_of
from flitwatch_routing.lmc import per_lid
from flitwatch_routing.tree import as_tree

#: watch(seconds, best largest load, moves) -> go on
Watch = Callable[[float, float, int], bool]
#: Part of the time limit that the bound of a broken tree may take.
BOUND_SHARE = 0.5


@dataclass(frozen=True)
class Routes:
    """Routes and what is known of them; loads in bytes on links between switches.

    z: largest load;  z_ar: the bound without the one-port rule (Taffet 2021, section 3.3) of the fabric as it is, failed cables left out;
    z_ar_exact: it is that optimum, not only below it (a broken tree's linear program may run out of time)
    fixed_bound: a lower bound with the rule: z_ar, or what pigeonholes and packing say of a leaf;  ar_gap = (z - z_ar) / z_ar;  bound_gap = (z - fixed_bound) / fixed_bound; None where
    no traffic crosses a switch, and there is nothing to compare;  proven: no routes can be better
    ports (routers, endpoints * 2^lmc): the forwarding tables, as `lmc` lays them out
    """

    z: float
    z_ar: float
    z_ar_exact: bool
    fixed_bound: float
    ar_gap: float | None
    bound_gap: float | None
    proven: bool
    worst_links: int
    ftree: float
    random: float
    wall_s: float
    moves: int
    ports: NDArray[np.int64]
    lmc: int = 0


def optimise(
    fabric: Fabric,
    traffic: tuple[NDArray, NDArray, NDArray],
    time_limit_s: float = 60.0,
    seed: int = 1,
    watch: Watch | None = None,
    lmc: int = 0,
    *,
    fewest_worst: bool = False,
    loaded: NDArray[np.int64] | None = None,
    within: float = 0.0,
) -> Routes:
    """Optimise the tables of a fat tree for a traffic matrix (src, dst, bytes; endpoints from 0); any time, best so far.

    lmc : an endpoint has 2^lmc LIDs, over which the traffic to it is spread evenly
    fewest_worst : then lower the number of links that carry as much as the busiest (Taffet 2021, section 5.4), in the last part of the time
    loaded (routers, endpoints x 2^lmc) : begin with these ports, stop once the busiest link is `within` (relative) of the bound, and leave as many entries as that
        allows; -1 or a port that leads nowhere for entries that have to be made anew

    Raises
    ------
    BadInput
        Where the fabric is no such tree, the traffic does not fit it, or failed links part it.
    BadRequest
        For a time limit that is no positive number of seconds, an LMC outside 0 to 7, or a `within` below zero.
    TooCostly
        Where the tables have too many entries.
    """
    started = time.monotonic()
    if not 0 < time_limit_s < math.inf:
        raise BadRequest(f"the time limit is {time_limit_s:g} s; expected a finite number above 0")
    if not 0 <= within < math.inf:
        raise BadRequest(f"routes within {within:g} of the bound are wanted; expected a finite number from 0")
    tree = as_tree(fabric, lmc)
    choices = None if loaded is None else choices_of(tree, loaded)
    src, dst, size = traffic[0], traffic[1], np.asarray(traffic[2], float)
    endpoints = len(fabric.endpoints)
    if len(src) and (src.max() >= endpoints or dst.max() >= endpoints or min(src.min(), dst.min()) < 0):
        raise BadInput(f"traffic names endpoints outside 0 to {endpoints - 1}")
    if len(size) and not (np.isfinite(size).all() and (size >= 0).all()):
        raise BadInput("traffic holds bytes that are negative or no finite number")
    if not tree.intact():
        _joined(fabric, ftree_tables(fabric))
    if lmc:
        src, dst, size = per_lid(fabric, (src, dst, size), lmc)
    slot = tree.slot_of_endpoint.astype(np.int32)
    least = bounds_of(tree, (src, dst, size), time_limit_s * BOUND_SHARE, watch)
    unit = unit_of(size)
    try:
        found = routes.optimise(
            tree.shape, slot[src], slot[dst], size / unit, tree.failed(), least.fixed * (1 + within) / unit,
            max(time_limit_s - (time.monotonic() - started), 0.0), seed,
            None if watch is None else lambda seconds, largest, moves: watch(seconds, largest * unit, moves), fewest_worst, choices,
        )  # fmt: skip
    except ValueError as bad:
        raise BadInput(str(bad)) from bad
    ports = tables_of(tree, found if choices is None else kept(tree, found, choices), fabric)
    checked = check(fabric, ports, traffic, lmc=lmc)
    between = fabric.router_links()
    z = float(checked.load[between].max()) if between.any() else 0.0
    proven = z <= least.fixed * (1 + ROUNDING)
    fixed = min(least.fixed, z) if proven else least.fixed  # above z by the core's single precision alone
    return Routes(
        z=z, z_ar=least.z_ar, z_ar_exact=least.exact, fixed_bound=fixed, ar_gap=gap(z, least.z_ar), bound_gap=gap(z, fixed),
        proven=proven, worst_links=int((checked.load[between] >= z * (1 - ROUNDING)).sum()) if z > 0 else 0,
        ftree=found["ftree"] * unit, random=found["random"] * unit, wall_s=time.monotonic() - started, moves=found["moves"], ports=ports, lmc=lmc,
    )  # fmt: skip


def _joined(fabric: Fabric, ports: NDArray[np.int64]) -> None:
    """BadInput where complete tables leave a leaf without a way to an endpoint."""
    leaves = np.unique(fabric.endpoints.router)
    none = np.argwhere(ports[leaves] < 0)
    if len(none):
        at, endpoint = none[0].tolist()
        node, leaf = fabric.endpoints.node[endpoint], fabric.routers.name[leaves[at]]
        raise BadInput(
            f"the fabric is disconnected: {leaf} has no way up and down to endpoint {endpoint} ({node})",
            advice="Mend its cables, or give the fabric without it",
        )
