"""What running jobs put on the network and feel of it: the campaign's linear loads and stall curves, followed for all jobs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_twin.applications import felt, slowdown
from flitwatch_twin.campaign.cause import Cause
from flitwatch_twin.campaign.window import BLOCKED, GLOBAL, PROCESSOR, ROUTER, SPREAD
from flitwatch_twin.footprint import footprints
from flitwatch_twin.machine import IntArray, Machine

Float = NDArray[np.float64]
Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Load:
    """One job's loads per unit rate of (exchange, I/O, incast), already divided by what is loaded.

    Attributes
    ----------
    router, processor : float32[3, R]; global_ : float32[3, G]
    own : its routers, with their share of its nodes in `weight`; groups : group of each
    """

    router: Array
    processor: Array
    global_: Array
    own: IntArray
    weight: Float
    groups: IntArray


@dataclass(frozen=True, eq=False)
class Utilisation:
    """Of routers and processor sides, float32[R], and of the groups' global links, float32[G]."""

    router: Array
    processor: Array
    global_: Array


class Network:
    """The machine's network; `machine` gives its shape."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._stacked: tuple[tuple[int, ...], tuple[Array, Array, Array]] | None = None
        self._held: list[Load] = []

    def _stack(self, loads: list[Load]) -> tuple[Array, Array, Array]:
        """All jobs' loads as (router, processor, global), rows by job and kind; the same until another job starts or ends."""
        key = tuple(map(id, loads))
        if self._stacked is None or self._stacked[0] != key:
            parts = [
                np.concatenate([getattr(one, name) for one in loads]) for name in ("router", "processor", "global_")
            ]
            # What is held cannot lend its identity to another load.
            self._stacked, self._held = (key, (parts[0], parts[1], parts[2])), loads
        return self._stacked[1]

    def load(self, nodes: IntArray, exchange: int, seed: tuple[int, ...], incast: bool) -> Load:
        """The load of a job on these nodes; `seed` chooses its servers and hot routers."""
        machine = self.machine
        prints = footprints(machine, [nodes], np.array([exchange]), [seed], np.array([incast]))
        kinds = np.concatenate([prints.router, prints.io_router, prints.incast])
        means = kinds.reshape(3, machine.groups, machine.group_size).mean(axis=2).repeat(machine.group_size, axis=1)
        router = ((1 - SPREAD) * kinds + SPREAD * means) / ROUTER
        sides = np.concatenate([prints.processor, 0.5 * prints.processor])
        processor = np.concatenate([sides / PROCESSOR, prints.incast * (BLOCKED / ROUTER)])
        links = np.concatenate([prints.global_, 0.6 * prints.global_, 0 * prints.global_]) / GLOBAL
        own, count = np.unique(machine.node_router[nodes], return_counts=True)
        to = np.float32
        return Load(
            router.astype(to), processor.astype(to), links.astype(to), own, count / count.sum(), machine.group_of[own]
        )

    def utilisation(self, loads: list[Load], rates: Array, level: Array) -> Utilisation:
        """Of jobs with `rates` (float32[J, 3]) over a background of `level` (float32[G])."""
        by_router = level[self.machine.group_of]
        if not loads:
            return Utilisation(by_router, 0.5 * by_router, level)
        flat = rates.ravel()
        router, processor, links = self._stack(loads)
        return Utilisation(flat @ router + by_router, flat @ processor + 0.5 * by_router, flat @ links + level)

    def slowdown(self, load: Load, seen: Utilisation, cause: Cause, most: float) -> float:
        """F of a job: its communication advances at 1 / (1 + F)."""
        waiting = cause.waiting
        parts = [
            felt(waiting(seen.router[load.own]), load.weight),
            felt(waiting(seen.processor[load.own]), load.weight),
            felt(waiting(seen.global_[load.groups]), load.weight),
        ]
        return float(slowdown(np.dot(np.array(parts, np.float64), cause.sensitivity[:3]), most))

    def congestion(self, seen: Utilisation, cause: Cause) -> dict[str, Float]:
        """What router counters show of each group, float64[G], by kind of congestion; the empty name is the usual one: stalls per flit at router tiles."""
        groups = self.machine.groups
        router, processor = (values.reshape(groups, -1).astype(np.float64) for values in (seen.router, seen.processor))
        return {
            "": _waits(router, cause),
            "stalls on the row bus": _waits(router, cause),
            "stalls in the column buffers": _waits(processor, cause),
            "traffic at router tiles": router.mean(axis=1),
            "traffic at processor tiles": processor.mean(axis=1),
        }


def _waits(carried: Float, cause: Cause) -> Float:
    """Waiting over service time of what each group's tiles carry."""
    waits: Float = (carried * cause.waiting(carried)).sum(axis=1) / np.maximum(carried.sum(axis=1), 1e-9)
    return waits
