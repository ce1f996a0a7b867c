"""Load of running jobs on the network and their slowdown: the campaign's linear loads and stall curves, for all jobs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.advice_value.modes import Effect, effect_of
from flitwatch_research.campaign.cause import Cause
from flitwatch_research.campaign.footprint import DETOUR, LEAVE, compute_footprints
from flitwatch_research.campaign.window import BLOCKED, GLOBAL, PROCESSOR, ROUTER, SPREAD
from flitwatch_twin.applications import combine_stalls, saturate_slowdown
from flitwatch_twin.machine import IntArray, Machine
from flitwatch_twin.users import Exchange

Float = NDArray[np.float64]
Array = NDArray[np.float32]


#: Share of the I/O rate on a job's paths between groups.
IO_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class Load:
    """One job's loads per unit rate of (exchange, I/O, incast), divided by the capacity.

    Attributes
    ----------
    router, processor : float32[3, R]; global_ : float32[3, G]
    own : its routers, with their share of its nodes in `weight`; groups : group of each
    exchange : kind of exchange; spans : number of its groups; routers_per_node : its scatter
    """

    router: Array
    processor: Array
    global_: Array
    own: IntArray
    weight: Float
    groups: IntArray
    exchange: int = 0
    spans: int = 1
    routers_per_node: float = 0.0

    def effect(self, mode: str) -> Effect | None:
        """Return the measured effect of a routing mode on the load; None if it keeps the default mode."""
        return effect_of(self.exchange, self.spans, self.routers_per_node, mode)


@dataclass(frozen=True, eq=False)
class Utilisation:
    """Utilisation of routers and processor sides, float32[R], and of the groups' global links, float32[G]; or the waiting there, over service time."""

    router: Array
    processor: Array
    global_: Array


class Network:
    """The machine's network, with the shape of `machine`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._stacked: tuple[tuple[int, ...], tuple[Array, Array, Array]] | None = None
        self._held: list[Load] = []

    def _stack_loads(self, loads: list[Load]) -> tuple[Array, Array, Array]:
        """Return all jobs' loads as (router, processor, global), rows by job and kind; cached until a job starts or ends."""
        key = tuple(map(id, loads))
        if self._stacked is None or self._stacked[0] != key:
            parts = [
                np.concatenate([getattr(load, name) for load in loads]) for name in ("router", "processor", "global_")
            ]
            # A reference is kept so that no new load reuses its id.
            self._stacked, self._held = (key, (parts[0], parts[1], parts[2])), loads
        return self._stacked[1]

    def load(self, nodes: IntArray, exchange: int, seed: tuple[int, ...], incast: bool) -> Load:
        """Return the load of a job on these nodes; `seed` chooses its servers and hot routers."""
        machine = self.machine
        prints = compute_footprints(machine, [nodes], np.array([exchange]), [seed], np.array([incast]))
        kinds = np.concatenate([prints.router, prints.io_router, prints.incast])
        means = kinds.reshape(3, machine.groups, machine.group_size).mean(axis=2).repeat(machine.group_size, axis=1)
        router = ((1 - SPREAD) * kinds + SPREAD * means) / ROUTER
        sides = np.concatenate([prints.processor, 0.5 * prints.processor])
        processor = np.concatenate([sides / PROCESSOR, prints.incast * (BLOCKED / ROUTER)])
        links = np.concatenate([prints.global_, IO_SHARE * prints.global_, 0 * prints.global_]) / GLOBAL
        own, count = np.unique(machine.node_router[nodes], return_counts=True)
        to = np.float32
        groups = machine.group_of[own]
        spans = int(np.count_nonzero(np.bincount(groups)))
        scattered = len(own) / len(nodes)
        parts = router.astype(to), processor.astype(to), links.astype(to)
        return Load(*parts, own, count / count.sum(), groups, exchange, spans, scattered)

    def routed(self, load: Load, count: int, modes: Sequence[str]) -> Load:
        """Return the load of a job with `count` nodes that alternates between these routing modes, with the modes' share of bytes through a third group."""
        effects = [load.effect(mode) for mode in modes]
        factors = [1.0 if effect is None else effect.detours for effect in effects]
        more = (sum(factors) / len(modes) - 1) * DETOUR
        if not more or load.spans == 1:
            return load
        machine = self.machine
        in_group = count * np.bincount(load.groups, load.weight, machine.groups)
        out = in_group * (1 - in_group / count) * LEAVE[Exchange(load.exchange)]
        router, links = load.router.copy(), load.global_.copy()
        router[0] += np.float32(more * 2 * out.sum() / machine.routers / ROUTER)
        shift = (more * (out + out.sum() / machine.groups) / GLOBAL).astype(np.float32)
        links[0] += shift
        links[1] += np.float32(IO_SHARE) * shift
        return replace(load, router=router, global_=links)

    def utilisation(self, loads: list[Load], rates: Array, level: Array) -> Utilisation:
        """Return the utilisation of jobs with `rates` (float32[J, 3]) plus a background of `level` (float32[G])."""
        by_router = level[self.machine.group_of]
        if not loads:
            return Utilisation(by_router, 0.5 * by_router, level)
        flat = rates.ravel()
        router, processor, links = self._stack_loads(loads)
        return Utilisation(flat @ router + by_router, flat @ processor + 0.5 * by_router, flat @ links + level)

    def waits(self, seen: Utilisation, cause: Cause) -> Utilisation:
        """Return waiting over service time at all places."""
        return Utilisation(cause.waiting(seen.router), cause.waiting(seen.processor), cause.waiting(seen.global_))

    def slowdown(self, load: Load, waits: Utilisation, cause: Cause, most: float) -> Float:
        """Return F of a job, whose communication advances at 1 / (1 + F), in the leading shape of `waits`."""
        parts = [
            combine_stalls(waits.router[..., load.own], load.weight),
            combine_stalls(waits.processor[..., load.own], load.weight),
            combine_stalls(waits.global_[..., load.groups], load.weight),
        ]
        return saturate_slowdown(cause.sensitivity[:3] @ np.array(parts, np.float64), most)

    def shared(self, load: Load, seen: Utilisation) -> Float:
        """Return the utilisation of a job's shared links affected by the mode: global ones, or its group's own if it is in only one."""
        if load.spans > 1:
            return np.asarray(seen.global_[..., load.groups] @ load.weight)
        return np.asarray(seen.router[..., load.own] @ load.weight)

    def congestion(self, seen: Utilisation, cause: Cause) -> dict[str, Float]:
        """Return each group's congestion in router counters, float64[G], by kind; the empty name is the usual one, stalls per flit at router tiles."""
        groups = self.machine.groups
        router, processor = (values.reshape(groups, -1).astype(np.float64) for values in (seen.router, seen.processor))
        stalls = _mean_waits(router, cause)
        return {
            "": stalls,
            "stalls on the row bus": stalls,
            "stalls in the column buffers": _mean_waits(processor, cause),
            "traffic at router tiles": router.mean(axis=1),
            "traffic at processor tiles": processor.mean(axis=1),
        }


def _mean_waits(carried: Float, cause: Cause) -> Float:
    """Return waiting over service time of the traffic on each group's tiles."""
    waits: Float = (carried * cause.waiting(carried)).sum(axis=1) / np.maximum(carried.sum(axis=1), 1e-9)
    return waits
