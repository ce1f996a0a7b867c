"""Router-level footprints: load on routers and groups per unit of a job's rate, from its placement.

The closed form of the mean load of static paths, for the campaign, whose months have too many links to simulate.
With n(r) nodes of the job on router r, and N_g of N nodes in group g, the bytes that leave a group are out_g = N_g (1 - N_g / N) x leave, and
stay_g = N_g - out_g. A local byte crosses the routers of its row and column (0.7) or any in the group (0.3). A byte between groups
crosses about two routers in each, and the share `DETOUR` two routers of any group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_twin.machine import IntArray, Machine
from flitwatch_twin.users import Exchange

#: Share of bytes between groups through a third group.
DETOUR = 0.3
#: Share of the traffic that leaves the group, by exchange.
LEAVE = {Exchange.NEIGHBOUR: 0.35, Exchange.ALL_TO_ALL: 1.0, Exchange.REDUCE: 0.6}
_LEAVE = np.array([LEAVE[Exchange(kind)] for kind in range(len(LEAVE))], np.float32)

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Footprints:
    """Loads per unit rate of J jobs.

    Attributes
    ----------
    processor, router : float32[J, R]; global_ : float32[J, G].
    io_router, io_server : float32[J, R]; transit of I/O over routers, and I/O that ends at the I/O routers.
    incast : float32[J, R]; load of routers around a job's hot ones.
    """

    processor: Array
    router: Array
    global_: Array
    io_router: Array
    io_server: Array
    incast: Array


def compute_footprints(
    machine: Machine,
    nodes: list[IntArray],
    exchange: NDArray[np.int64],
    seeds: list[tuple[int, ...]],
    with_incast: NDArray[np.bool_],
) -> Footprints:
    """Return the footprints of jobs on the given nodes (positions in the node list); `seeds` determine each job's servers and hot routers."""
    jobs, size = len(nodes), machine.group_size
    here = _nodes_on_routers(machine, nodes)
    grid = here.reshape(jobs, machine.groups, machine.rows, machine.cols)
    in_group = grid.sum(axis=(2, 3))
    total = in_group.sum(axis=1, keepdims=True)
    out = in_group * (1 - in_group / total) * _LEAVE[exchange][:, None]
    stay = in_group - out
    safe = np.maximum(in_group, 1)[:, :, None]
    row, col = grid.sum(axis=3) / safe, grid.sum(axis=2) / safe
    outgoing = out.sum(axis=1)[:, None]
    spread = 0.3 * stay / size + 2 * out / size + 2 * DETOUR * outgoing / machine.routers
    router = 0.7 * stay[:, :, None, None] * row[:, :, :, None] * col[:, :, None, :] + spread[:, :, None, None]
    io_router, io_server, incast = (np.zeros((jobs, machine.routers), np.float32) for _ in range(3))
    for job in range(jobs):
        rng = np.random.default_rng(seeds[job])
        _add_io(machine, here[job], in_group[job], rng, io_router[job], io_server[job])
        if with_incast[job]:
            _add_hotspots(machine, here[job], rng, incast[job])
    return Footprints(
        processor=here,
        router=here + router.reshape(jobs, machine.routers),
        global_=((1 + DETOUR) * out + DETOUR * outgoing / machine.groups).astype(np.float32),
        io_router=io_router,
        io_server=io_server,
        incast=incast,
    )


def _nodes_on_routers(machine: Machine, nodes: list[IntArray]) -> Array:
    job = np.repeat(np.arange(len(nodes)), [len(job_nodes) for job_nodes in nodes])
    place = job * machine.routers + machine.node_router[np.concatenate([np.empty(0, np.int32), *nodes])]
    return (
        np.bincount(place, minlength=len(nodes) * machine.routers)
        .reshape(len(nodes), machine.routers)
        .astype(np.float32)
    )


def _add_io(
    machine: Machine, here: Array, in_group: Array, rng: np.random.Generator, transit: Array, server: Array
) -> None:
    """Add I/O: half of the I/O routers serve a job, and its writes cross its own routers, its groups and the servers' groups."""
    serving = rng.choice(machine.io_router, max(1, len(machine.io_router) // 2), replace=False)
    each = here.sum() / len(serving)
    server[serving] = each
    transit += 0.5 * here + np.repeat(in_group / machine.group_size, machine.group_size)
    transit[serving] += 0.2 * each
    ends = np.bincount(machine.group_of[serving], minlength=machine.groups) * each / machine.group_size
    transit += np.repeat(ends, machine.group_size).astype(np.float32)


def _add_hotspots(machine: Machine, here: Array, rng: np.random.Generator, incast: Array) -> None:
    """Add a congestion tree: hot routers load their rows and columns, and slightly their groups."""
    used = np.flatnonzero(here)
    hot = rng.choice(used, max(2, len(used) // 24), replace=False)
    each = here.sum() / len(hot)
    grid = incast.reshape(machine.groups, machine.rows, machine.cols)
    for router in hot:
        group, row, col = machine.group_of[router], machine.row_of[router], machine.col_of[router]
        grid[group, row, :] += 0.10 * each
        grid[group, :, col] += 0.10 * each
        grid[group] += 0.012 * each
