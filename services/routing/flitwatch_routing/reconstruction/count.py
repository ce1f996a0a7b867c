"""Counters of known traffic: what a switch would have counted. For studies and tests; the reconstruction never imports it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.reconstruction.lanes import Lanes
from flitwatch_routing.reconstruction.pairs import Pairs
from flitwatch_routing.reconstruction.sensing import groups_of

Floats = NDArray[np.float64]


def counters_of(
    fabric: Fabric,
    ports: NDArray[np.int64],
    lanes: Lanes,
    pairs: Pairs,
    size: Floats,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Bytes (links, VLs) of pairs' traffic on static routes; `noise` is a relative error of each counter."""
    groups = groups_of(fabric, ports, [lanes], pairs)
    counted = np.zeros(groups.rows + 1)
    for of, rows in ((groups.first_of, groups.first_rows[0]), (groups.tail_of, groups.tail_rows[0])):
        grouped = np.bincount(of, size, len(rows))
        for hop in range(rows.shape[1]):
            np.add.at(counted, rows[:, hop], grouped)
    result = counted[:-1].reshape(len(fabric.links.src), lanes.vls)
    if noise > 0 and rng is not None:
        result *= np.clip(1 + noise * rng.standard_normal(result.shape), 0, None)
    return result
