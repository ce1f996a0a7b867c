"""Counters that switches would have for known traffic. For studies and tests; the reconstruction never imports it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.reconstruction.lanes import Lanes
from flitwatch_routing.reconstruction.lanes_by_pair import PairLanes
from flitwatch_routing.reconstruction.pairs import Pairs
from flitwatch_routing.reconstruction.sensing import groups_of

Floats = NDArray[np.float64]


def counters_of(
    fabric: Fabric,
    ports: NDArray[np.int64],
    lanes: Sequence[Lanes | PairLanes],
    pairs: Pairs,
    size: Floats,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> list[Floats]:
    """Return counters (links, VLs) of the pairs' traffic `size` (pairs,), in bytes or other units, on static routes in each epoch; `noise` is their relative error."""
    groups = groups_of(fabric, ports, lanes, pairs)
    turned = np.zeros(groups.turn_rows.shape[1] + 1)
    for of, turns in ((groups.first_of, groups.first_turns), (groups.tail_of, groups.tail_turns)):
        grouped = np.bincount(of, size, len(turns))
        for hop in turns.T:
            turned += np.bincount(hop, grouped, len(turned))
    counted = np.zeros(groups.rows)
    for rows in groups.turn_rows:
        counted += np.bincount(rows, turned[:-1], len(counted))
    result = counted.reshape(len(lanes), len(fabric.links.src), lanes[0].vls)
    if noise > 0 and rng is not None:
        result *= np.clip(1 + noise * rng.standard_normal(result.shape), 0, None)
    return list(result)
