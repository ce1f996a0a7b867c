"""Lower bounds on the largest load of a link between switches, for the actual fabric with failed cables and missing switches."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from flitwatch_core import routes
from flitwatch_domain.fabric import Fabric
from flitwatch_routing.adaptive import Watch, least_load
from flitwatch_routing.packing import least_busiest
from flitwatch_routing.tree import Tree, as_tree, of_leaves

Amount = TypeVar("Amount", float, NDArray[np.float64])


def weighting_name(mtu: float | None) -> str:
    """Return the name of the weighting: bytes without an MTU, mixed with one."""
    return "bytes" if mtu is None else "mixed"


def weighted_bytes(size: Amount, packets: Amount, mtu: float) -> Amount:
    """Return weighted bytes, MTU/2 x packets + bytes/2: the plain bytes if all packets have `mtu` bytes. It is linear, so it applies to pairs and counters."""
    return mtu / 2 * packets + size / 2


#: Time limit in seconds for the linear program of a damaged tree: quartz1 without 1 % of its cables needs 5.
LIMIT_S = 120.0
#: Time limit of packing in seconds, and its share of the whole limit.
PACKING_S, PACKING_SHARE = 20.0, 0.25
#: Limit up to which floats represent integers exactly; relative difference up to which loads count as equal.
LARGEST_WHOLE, ROUNDING = 2.0**53, 1e-6
Traffic = tuple[NDArray, NDArray, NDArray]


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on the bytes of the busiest link between switches.

    z_ar: without the one-port rule, for hardware-adaptive routing (Taffet 2021, section 3.3);  exact: whether it is the optimum, not only a
    lower bound
    fixed: with the rule, from the pigeonhole principle for leaves' entries and from packing them into ports; infinite (like z_ar) if failed cables
    separate communicating leaves
    """

    z_ar: float
    fixed: float
    exact: bool


def compute_bounds(
    fabric: Fabric, traffic: Traffic, time_limit_s: float = LIMIT_S, watch: Watch | None = None, packing: bool = True
) -> Bounds:
    """Return bounds for traffic (src, dst, bytes; endpoints from 0), ignoring endpoints that are not on a leaf. Without `packing`, `fixed` uses only
    the pigeonhole principle. Raise BadInput if the fabric is not a fat tree."""
    return bounds_of(as_tree(fabric), of_leaves(fabric, traffic), time_limit_s, watch, packing)


def whole_loads(size: NDArray, bound: float) -> float:
    """Return the bound rounded up to a possible sum of entries of these sizes: a multiple of their greatest common divisor, if all are
    integers."""
    largest = float(size.max(initial=0.0))
    if not 0 < largest < LARGEST_WHOLE or not math.isfinite(bound) or (size != np.floor(size)).any():
        return bound
    step = int(np.gcd.reduce(size.astype(np.int64)))
    return max(bound, math.ceil(bound / step * (1 - ROUNDING)) * float(step))


def relative_gap(load: float, bound: float) -> float | None:
    """Return the gap of a load above its bound, relative to the bound; None if no traffic crosses a switch, or some has no up/down path."""
    return load / bound - 1 if 0 < bound < math.inf else None


def unit_of(size: NDArray) -> float:
    """Return the unit of the core's single-precision byte counts, a power of two, so that conversion is exact."""
    return math.ldexp(1.0, math.frexp(float(size.max(initial=0)) or 1.0)[1])


def bounds_of(
    tree: Tree, traffic: Traffic, time_limit_s: float = LIMIT_S, watch: Watch | None = None, packing: bool = True
) -> Bounds:
    """Return `compute_bounds` for an existing tree layout."""
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
    """Return the bytes of each leaf's entries and the number of available ports, for traffic up from the leaf and down to it."""
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
