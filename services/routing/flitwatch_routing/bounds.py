"""Lower bounds on the largest load of a link between switches, of the fabric that is there: failed cables and missing switches count."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.adaptive import Watch, least_load
from flitwatch_routing.packing import least_busiest
from flitwatch_routing.tree import Tree, as_tree, of_leaves

#: Seconds that the linear program of a broken tree may take: quartz1 with 1 % of its cables gone needs 5.
LIMIT_S = 120.0
#: Seconds that packing may take, and its part of the time limit.
PACKING_S, PACKING_SHARE = 20.0, 0.25
#: Bytes up to which every whole number has a float of its own; loads that are this close, relative, are the same.
LARGEST_WHOLE, ROUNDING = 2.0**53, 1e-6
Traffic = tuple[NDArray, NDArray, NDArray]


@dataclass(frozen=True)
class Bounds:
    """Bytes of the busiest link between switches, at least.

    z_ar: without the one-port rule, as hardware-adaptive routing may spread (Taffet 2021, section 3.3);  exact: it is that optimum, and not only
    below it
    fixed: with the rule, by pigeonholes of leaves' entries and by packing them into ports; infinite (as z_ar) where failed cables part leaves that
    communicate
    """

    z_ar: float
    fixed: float
    exact: bool


def compute_bounds(
    fabric: Fabric, traffic: Traffic, time_limit_s: float = LIMIT_S, watch: Watch | None = None, packing: bool = True
) -> Bounds:
    """Return bounds for traffic (src, dst, bytes; endpoints from 0), without that of endpoints on no leaf; without `packing`, `fixed` is by pigeonholes
    alone.

    Raises
    ------
    BadInput
        Where the fabric is not a fat tree.
    """
    return bounds_of(as_tree(fabric), of_leaves(fabric, traffic), time_limit_s, watch, packing)


def whole_loads(size: NDArray, bound: float) -> float:
    """Return the bound, raised to what whole entries of these bytes can add up to: a multiple of their greatest common divisor, where all are whole
    numbers."""
    largest = float(size.max(initial=0.0))
    if not 0 < largest < LARGEST_WHOLE or not math.isfinite(bound) or (size != np.floor(size)).any():
        return bound
    step = int(np.gcd.reduce(size.astype(np.int64)))
    return max(bound, math.ceil(bound / step * (1 - ROUNDING)) * float(step))


def relative_gap(load: float, bound: float) -> float | None:
    """Return the gap of a load above its bound, relative to the bound; None if no traffic crosses a switch, or some has no path up and down."""
    return load / bound - 1 if 0 < bound < math.inf else None


def unit_of(size: NDArray) -> float:
    """Return the unit in which the core counts bytes, with single precision: a power of two, so that the conversion rounds nothing."""
    return math.ldexp(1.0, math.frexp(float(size.max(initial=0)) or 1.0)[1])


def bounds_of(
    tree: Tree, traffic: Traffic, time_limit_s: float = LIMIT_S, watch: Watch | None = None, packing: bool = True
) -> Bounds:
    """`compute_bounds` of a fabric that is laid out already."""
    started = time.monotonic()
    pack_s = min(PACKING_S, PACKING_SHARE * time_limit_s)

    def go_on() -> bool:
        spent = time.monotonic() - started
        return spent < pack_s and (watch is None or watch(spent, math.inf, 0))

    slot = tree.slot_of_endpoint.astype(np.int32)
    src, dst, size = slot[traffic[0]], slot[traffic[1]], np.asarray(traffic[2], float)
    unit = unit_of(size)
    even, fixed = routes.bounds(tree.shape, src, dst, size / unit, tree.cables())
    if math.isinf(even):
        return Bounds(even * unit, fixed * unit, exact=True)
    hosts, leaves = tree.shape[2], tree.shape[0] * tree.shape[1]
    if packing:
        fixed = least_busiest(_collect_entries(tree, src // hosts, dst, size / unit), fixed, go_on)
    fixed = whole_loads(size, fixed * unit) / unit
    if tree.intact():
        return Bounds(even * unit, fixed * unit, exact=True)
    demand = np.zeros((leaves, leaves))
    np.add.at(demand, (src // hosts, dst // hosts), size / unit)
    np.fill_diagonal(demand, 0.0)
    linear, exact = least_load(tree, demand, max(time_limit_s - (time.monotonic() - started), 0.0), watch)
    z_ar = max(even, linear)
    return Bounds(z_ar * unit, whole_loads(size, max(fixed, z_ar) * unit), exact)


def _collect_entries(tree: Tree, leaf: NDArray, dst: NDArray, size: NDArray) -> list[tuple[NDArray, int]]:
    """Return bytes of each leaf's entries and the ports that they may take: those that leave it, up, and those that come down to it."""
    hosts, leaves = tree.shape[2], tree.shape[0] * tree.shape[1]
    flat = np.zeros((leaves, leaves * hosts))
    np.add.at(flat, (leaf, dst), size)
    bytes_to = flat.reshape(leaves, leaves, hosts)
    bytes_to[np.arange(leaves), np.arange(leaves)] = 0.0
    ups, downs = tree.working_ports()
    both = [(bytes_to[index], ups[index]) for index in range(leaves)] + [
        (bytes_to[:, index], downs[index]) for index in range(leaves)
    ]
    return [(entries[entries > 0], int(ports)) for entries, ports in both if entries.any()]
