"""Placement policies: a job's endpoints and the order of its ranks on them (Wang 2018, section II-B)."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_domain.task_models.machines import Placement

POLICIES: tuple[str, ...] = get_args(Placement)


def place_ranks(
    fabric: Fabric, ranks: int, policy: str, rng: np.random.Generator, taken: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Return endpoints of ranks 0 .. ranks - 1.

    Parameters
    ----------
    policy : str
        `contiguous`; `random-X`: units X in random order, with consecutive endpoints in a unit; `cyclic`: one rank per router, round robin;
        `random-rank`: contiguous endpoints with shuffled ranks.
    taken : endpoints of other jobs, optional

    Raises
    ------
    BadRequest
        The policy is unknown, or there are too few free endpoints.
    """
    free = np.setdiff1d(np.arange(len(fabric.endpoints)), [] if taken is None else taken)
    if ranks > free.size:
        raise BadRequest(f"{ranks} ranks do not fit on {free.size} free endpoints", advice="Lower --ranks.")
    if policy in ("contiguous", "linear"):
        return free[:ranks]
    if policy == "random-rank":
        return rng.permutation(free[:ranks])
    if policy == "cyclic":
        router = np.asarray(fabric.endpoints.router)[free]
        order = np.argsort(router, kind="stable")
        _, start = np.unique(router[order], return_index=True)
        turn = np.empty(free.size, np.int64)
        turn[order] = np.arange(free.size) - np.repeat(start, np.diff([*start, free.size]))
        return free[np.lexsort((router, turn))][:ranks]
    if policy not in POLICIES:
        raise BadRequest(f"unknown placement {policy!r}", advice=f"Use one of {', '.join(POLICIES)}.")
    unit = unit_of(fabric, policy.removeprefix("random-"))[free]
    names, number = np.unique(unit, return_inverse=True)
    return free[np.lexsort((free, rng.permutation(names.size)[number]))][:ranks]


def unit_of(fabric: Fabric, unit: str) -> NDArray[np.int64]:
    """Return the number of each endpoint's node, router, chassis (row of a group), cabinet (three chassis) or group (pod)."""
    endpoints, routers = fabric.endpoints, fabric.routers
    if unit == "node":
        return np.arange(len(endpoints))
    router = np.asarray(endpoints.router, np.int64)
    if unit == "router":
        return router
    group, row = np.asarray(routers.group, np.int64)[router], np.asarray(routers.row, np.int64)[router]
    if unit not in ("group", "chassis", "cabinet"):
        raise BadRequest(f"unknown unit {unit!r}")
    grouped = group.min(initial=0) >= 0
    if not grouped or (unit != "group" and row.min(initial=0) < 0):
        units = "random-node, random-router or random-group" if grouped else "random-node or random-router"
        raise BadRequest(f"{fabric.name} has no known {unit}", advice=f"Use {units}.")
    if unit == "group":
        return group
    return group * 1000 + (row if unit == "chassis" else row // 3)
