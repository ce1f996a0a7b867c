"""Routes for a traffic matrix: the optimiser for a fabric, with bounds, tables and a check of the tables."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.bounds import ROUNDING, Bounds, bounds_of, relative_gap, unit_of
from flitwatch_routing.cabling import Cabling
from flitwatch_routing.forwarding import check_routes, choices_of, keep_loaded_choices, tables_of
from flitwatch_routing.lmc import per_lid
from flitwatch_routing.switch_lids import complete_tables, towards_switches
from flitwatch_routing.tree import Tree, as_tree, of_leaves, on_leaves

Traffic = tuple[NDArray, NDArray, NDArray]
#: watch(seconds, best largest load over all time slots, moves) -> whether to continue
Watch = Callable[[float, float, int], bool]
#: Share of the time limit for the bound of a damaged tree.
BOUND_SHARE = 0.5


@dataclass(frozen=True)
class Slot:
    """Results for one time slot; for the fields see `Routes`."""

    z: float
    z_ar: float
    fixed_bound: float

    @property
    def ar_gap(self) -> float | None:
        return relative_gap(self.z, self.z_ar)

    @property
    def bound_gap(self) -> float | None:
        return relative_gap(self.z, self.fixed_bound)


@dataclass(frozen=True)
class Progress:
    """An improvement of the routes: time in seconds from the start, and the new largest load."""

    seconds: float
    z: float


@dataclass(frozen=True)
class Routes:
    """Routes with their loads and bounds; loads are in bytes on links between switches, summed over time slots if there are several.

    z: largest load;  z_ar: the bound without the one-port rule (Taffet 2021, section 3.3) for the actual fabric, without failed cables;
    z_ar_exact: whether it is the optimum, not only a lower bound (a damaged tree's linear program may run out of time)
    fixed_bound: a lower bound with the rule: z_ar, or a leaf's pigeonhole or packing bound;  ar_gap = (z - z_ar) / z_ar;  bound_gap = (z -
    fixed_bound) / fixed_bound; both None if
    no traffic crosses a switch;  proven: no routes can be better, in any slot;  worst_links: number of links with the same load as their slot's
    busiest link
    ports (routers, endpoints * 2^lmc): the forwarding tables, in the layout of `lmc`;  progress: improvements of an integer program
    detours: pairs (leaf, endpoint of a leaf) without an up/down path; their path goes down and up again, and may deadlock
    """

    z: float
    z_ar: float
    z_ar_exact: bool
    fixed_bound: float
    ar_gap: float | None
    bound_gap: float | None
    proven: bool
    worst_links: int
    slots: tuple[Slot, ...]
    wall_s: float
    moves: int
    ports: NDArray[np.int64]
    lmc: int = 0
    progress: tuple[Progress, ...] = ()
    detours: int = 0


def optimise_routes(
    fabric: Fabric,
    traffic: Traffic,
    time_limit_s: float = 60.0,
    seed: int = 1,
    watch: Watch | None = None,
    lmc: int = 0,
    *,
    later: Sequence[Traffic] = (),
    fewest_worst: bool = False,
    loaded: NDArray[np.int64] | None = None,
    within: float = 0.0,
) -> Routes:
    """Optimise the tables of a fat tree for a traffic matrix (src, dst, bytes; endpoints from 0). The best result within the time limit is returned.

    Endpoints that are not on a leaf, such as aggregation units of spines, are reached by the paths to their switches. The same holds for endpoints without
    an up/down path. Their traffic counts in loads, but not in bounds. For any time limit, the tables are at least as good as ftree's if no loaded
    tables are kept.

    later : traffic of further time slots, each sent after the previous one is complete. The sum of the slots' largest loads is minimised, not the
    largest load of the
        sum (Taffet 2021, section 5.3, on the effect of routes for the sum on phases)
    lmc : an endpoint has 2^lmc LIDs, over which its traffic is spread evenly
    fewest_worst : in the last part of the time, reduce the number of links with the largest load (Taffet 2021, section 5.4)
    loaded (routers, endpoints x 2^lmc) : begin with these ports, stop once the busiest link is `within` (relative) of the bound, and keep as many
    entries as
        possible; -1 or an unconnected port marks entries that must be recomputed

    Raises
    ------
    BadInput
        The fabric is not such a tree, the traffic does not fit it, or failed links disconnect it.
    BadRequest
        The time limit is not a positive number of seconds, the LMC is not from 0 to 7, or `within` is negative.
    TooCostly
        The tables have too many entries.
    """
    started = time.monotonic()
    if not 0 < time_limit_s < math.inf:
        raise BadRequest(f"the time limit is {time_limit_s:g} s; expected a finite number above 0")
    if not 0 <= within < math.inf:
        raise BadRequest(f"the distance from the bound is {within:g}; expected a finite number of at least 0")
    tree = as_tree(fabric, lmc)
    choices = None if loaded is None else choices_of(tree, loaded)
    slots = [_validate_traffic(item, len(fabric.endpoints)) for item in (traffic, *later)]
    towards = towards_switches(fabric)
    laid, detours = [of_leaves(fabric, item) for item in slots], 0
    if not tree.intact():
        apart = _find_parted_pairs(fabric, ftree_tables(fabric), towards)
        laid, detours = [_drop_parted_traffic(fabric, item, apart) for item in laid], int(apart.sum())
    lid_traffic = [per_lid(fabric, item, lmc) for item in laid] if lmc else laid
    least = [bounds_of(tree, item, time_limit_s * BOUND_SHARE / len(lid_traffic), watch) for item in lid_traffic]
    # Slots without traffic across a switch do not depend on routes.
    crossing = [number for number, item in enumerate(least) if item.fixed > 0] or [0]
    goals = np.array([least[number].fixed for number in crossing])
    src, dst, size, slot = _collect_rows(tree, [lid_traffic[number] for number in crossing])
    unit = unit_of(size)
    try:
        solution = routes.optimise(
            tree.shape,
            src,
            dst,
            size / unit,
            slot,
            tree.cables(),
            goals / unit,
            max(time_limit_s - (time.monotonic() - started), 0.0),
            seed,
            None if watch is None else lambda seconds, largest, moves: watch(seconds, largest * unit, moves),
            fewest_worst,
            choices,
            within,
        )
    except ValueError as bad:
        raise BadInput(str(bad)) from bad
    reached = np.zeros(len(slots))
    reached[crossing] = solution["largest"] * unit
    cabling = Cabling(lid_traffic, loaded, np.maximum(reached, [item.fixed * (1 + within) for item in least]).tolist())
    tables = tables_of(
        tree, solution if choices is None else keep_loaded_choices(tree, solution, choices), fabric, cabling
    )
    ports = complete_tables(fabric, tables, towards)
    between = fabric.router_links()
    loads = [check_routes(fabric, ports, item, lmc=lmc).load[between] for item in slots]
    measured = [_measure_slot(load, bound) for load, bound in zip(loads, least, strict=True)]
    if loaded is None and not lmc and not _is_proven(measured):
        # A search without time for any move can be worse than tables without a search.
        plain = complete_tables(fabric, ftree_tables(fabric), towards)
        instead = [check_routes(fabric, plain, item).load[between] for item in slots]
        if sum(load.max(initial=0.0) for load in instead) < sum(load.max(initial=0.0) for load in loads):
            ports, loads = plain, instead
            measured = [_measure_slot(load, bound) for load, bound in zip(loads, least, strict=True)]
    z, z_ar, fixed = (sum(getattr(item, name) for item in measured) for name in ("z", "z_ar", "fixed_bound"))
    return Routes(
        z=z,
        z_ar=z_ar,
        z_ar_exact=all(item.exact for item in least),
        fixed_bound=fixed,
        ar_gap=relative_gap(z, z_ar),
        bound_gap=relative_gap(z, fixed),
        proven=_is_proven(measured),
        worst_links=sum(_count_busiest_links(load) for load in loads),
        slots=tuple(measured),
        wall_s=time.monotonic() - started,
        moves=solution["moves"],
        ports=ports,
        lmc=lmc,
        detours=detours,
    )


def _validate_traffic(traffic: Traffic, endpoints: int) -> Traffic:
    """Return traffic with bytes as floats; raise BadInput if it is invalid."""
    src, dst, size = traffic[0], traffic[1], np.asarray(traffic[2], float)
    if len(src) and (src.max() >= endpoints or dst.max() >= endpoints or min(src.min(), dst.min()) < 0):
        raise BadInput(f"traffic names endpoints outside 0 to {endpoints - 1}")
    if len(size) and not (np.isfinite(size).all() and (size >= 0).all()):
        raise BadInput("traffic contains negative or infinite bytes")
    return src, dst, size


def _collect_rows(tree: Tree, slots: Sequence[Traffic]) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return sources and destinations as places in the tree, bytes, and slot of each row."""
    place = tree.slot_of_endpoint.astype(np.int32)
    src, dst, size = (np.concatenate(column) for column in zip(*slots, strict=True))
    return (
        place[src],
        place[dst],
        size,
        np.repeat(np.arange(len(slots), dtype=np.int32), [len(slot_traffic[2]) for slot_traffic in slots]),
    )


def _measure_slot(load: NDArray, least: Bounds) -> Slot:
    z = float(load.max(initial=0.0))
    # A bound that is reached exceeds z only because of the core's single precision.
    return Slot(z, least.z_ar, min(least.fixed, z) if z <= least.fixed * (1 + ROUNDING) else least.fixed)


def _is_proven(measured: Sequence[Slot]) -> bool:
    return all(slot.z <= slot.fixed_bound * (1 + ROUNDING) for slot in measured)


def _count_busiest_links(load: NDArray) -> int:
    """Return the number of links with the same load as the busiest."""
    return int((load >= load.max() * (1 - ROUNDING)).sum()) if load.max(initial=0.0) > 0 else 0


def _find_parted_pairs(fabric: Fabric, ports: NDArray[np.int64], towards: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where tables (routers, endpoints) give a leaf no up/down path to an endpoint of a leaf; raise BadInput if there is no path at
    all."""
    placed = on_leaves(fabric)
    router = fabric.endpoints.router
    leaves = np.unique(router[placed])
    result = np.zeros(ports.shape, bool)
    result[leaves] = (ports[leaves] < 0) & placed
    none = np.argwhere(result & (towards[:, router] < 0))
    if len(none):
        leaf, endpoint = none[0].tolist()
        raise BadInput(
            f"the fabric is disconnected: {fabric.routers.name[leaf]} has no path to endpoint {endpoint} ({fabric.endpoints.node[endpoint]})",
            advice="Repair its cables, or use the fabric without it",
        )
    return result


def _drop_parted_traffic(fabric: Fabric, traffic: Traffic, apart: NDArray[np.bool_]) -> Traffic:
    """Return traffic (src, dst, bytes) without pairs (router, endpoint) that are `apart`."""
    src, dst, size = traffic
    mask = ~apart[fabric.endpoints.router[src], dst]
    return src[mask], dst[mask], size[mask]
