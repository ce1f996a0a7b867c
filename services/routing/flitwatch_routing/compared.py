"""What the tables that others make would carry, each scored by the same check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.forwarding import check
from flitwatch_routing.greedy import greedy_tables
from flitwatch_routing.minhop import minhop_tables
from flitwatch_routing.switch_lids import completed, towards_switches
from flitwatch_routing.tree import on_leaves

Traffic = tuple[NDArray, NDArray, NDArray]

#: Names, and their tables for (fabric, traffic, seed).
BASELINES: dict[str, Callable[[Fabric, Traffic, int], NDArray[np.int64]]] = {
    "ftree": lambda fabric, traffic, seed: ftree_tables(fabric),
    "random": lambda fabric, traffic, seed: random_tables(fabric, seed),
    "greedy": lambda fabric, traffic, seed: greedy_tables(fabric, traffic),
    "minhop": lambda fabric, traffic, seed: minhop_tables(fabric),
}


def busiest(
    fabric: Fabric, slots: Sequence[Traffic], seed: int, stopped: Callable[[], bool] = lambda: False
) -> dict[str, float | None]:
    """Bytes of the busiest link between switches, added up over time slots, by each baseline of a fat tree, one LID an endpoint.

    Baselines know the traffic of all slots together. None where their tables lose some of the traffic, and for those that were not laid before it was `stopped`.
    """
    between = fabric.router_links()
    src, dst, size = (np.concatenate(column) for column in zip(*slots, strict=True))
    found: dict[str, float | None] = dict.fromkeys(BASELINES)
    placed = on_leaves(fabric)
    towards = None if placed.all() else towards_switches(fabric)
    for name, tables in BASELINES.items():
        if stopped():
            break
        ports = tables(fabric, (src, dst, size), seed)
        if towards is not None:
            ports = np.where(placed, ports, completed(fabric, ports, towards))
        checked = [check(fabric, ports, one) for one in slots]
        lost = any(one.lost for one in checked)
        found[name] = None if lost else sum(float(one.load[between].max(initial=0.0)) for one in checked)
    return found
