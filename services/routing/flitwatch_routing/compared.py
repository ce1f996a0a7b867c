"""Loads of the tables of other routings, all scored by the same check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.forwarding import check_routes
from flitwatch_routing.greedy import greedy_tables
from flitwatch_routing.minhop import minhop_tables
from flitwatch_routing.switch_lids import complete_tables, towards_switches
from flitwatch_routing.tree import on_leaves

Traffic = tuple[NDArray, NDArray, NDArray]

#: Names, and their tables for (fabric, traffic, seed).
BASELINES: dict[str, Callable[[Fabric, Traffic, int], NDArray[np.int64]]] = {
    "ftree": lambda fabric, traffic, seed: ftree_tables(fabric),
    "random": lambda fabric, traffic, seed: random_tables(fabric, seed),
    "greedy": lambda fabric, traffic, seed: greedy_tables(fabric, traffic),
    "minhop": lambda fabric, traffic, seed: minhop_tables(fabric),
}


def compare_baselines(
    fabric: Fabric, slots: Sequence[Traffic], seed: int, stopped: Callable[[], bool] = lambda: False
) -> dict[str, float | None]:
    """Return the bytes of the busiest link between switches, summed over time slots, for each baseline of a fat tree with one LID per endpoint.

    Baselines get the summed traffic of all slots. The value is None if tables lose traffic, or if `stopped` before they were computed.
    """
    between = fabric.router_links()
    src, dst, size = (np.concatenate(column) for column in zip(*slots, strict=True))
    peak_bytes: dict[str, float | None] = dict.fromkeys(BASELINES)
    placed = on_leaves(fabric)
    towards = None if placed.all() else towards_switches(fabric)
    for name, tables in BASELINES.items():
        if stopped():
            break
        ports = tables(fabric, (src, dst, size), seed)
        if towards is not None:
            ports = np.where(placed, ports, complete_tables(fabric, ports, towards))
        checked = [check_routes(fabric, ports, item) for item in slots]
        lost = any(item.lost for item in checked)
        peak_bytes[name] = None if lost else sum(float(item.load[between].max(initial=0.0)) for item in checked)
    return peak_bytes
