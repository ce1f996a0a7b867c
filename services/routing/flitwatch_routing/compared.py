"""What the tables that others make would carry, each scored by the same check."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables, random_tables
from flitwatch_routing.forwarding import check
from flitwatch_routing.greedy import greedy_tables
from flitwatch_routing.minhop import minhop_tables

Traffic = tuple[NDArray, NDArray, NDArray]

#: Names, and their tables for (fabric, traffic, seed).
BASELINES: dict[str, Callable[[Fabric, Traffic, int], NDArray[np.int64]]] = {
    "ftree": lambda fabric, traffic, seed: ftree_tables(fabric),
    "random": lambda fabric, traffic, seed: random_tables(fabric, seed),
    "greedy": lambda fabric, traffic, seed: greedy_tables(fabric, traffic),
    "minhop": lambda fabric, traffic, seed: minhop_tables(fabric),
}


def busiest(
    fabric: Fabric, traffic: Traffic, seed: int, stopped: Callable[[], bool] = lambda: False
) -> dict[str, float | None]:
    """Bytes of the busiest link between switches by each baseline of a fat tree, one LID an endpoint.

    None where its tables lose some of the traffic, and for those that were not laid before it was `stopped`.
    """
    between = fabric.router_links()
    found: dict[str, float | None] = dict.fromkeys(BASELINES)
    for name, tables in BASELINES.items():
        if stopped():
            break
        checked = check(fabric, tables(fabric, traffic, seed), traffic)
        found[name] = None if checked.lost else float(checked.load[between].max(initial=0.0))
    return found
