"""Planted jobs whose traffic the twin routes pair by pair, and their counters: sums by link and by network card."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.attribution import Moment, Places
from flitwatch_domain.counters import LINK_CLASS_COLUMNS
from flitwatch_domain.generators import build_dragonfly
from flitwatch_domain.link_shares import JobTraffic
from flitwatch_twin.flows import exchange_pattern
from flitwatch_twin.machine import Machine
from flitwatch_twin.paths import DragonflyPaths
from flitwatch_twin.users import Exchange

FABRIC = build_dragonfly(4, blue_routers=12)
MACHINE = Machine.of(FABRIC)
ROUTER = FABRIC.endpoints.router.astype(np.int64)
BETWEEN = np.flatnonzero(FABRIC.router_links())
CAPACITY = FABRIC.links.bandwidth_bps[BETWEEN] / 8
SECONDS, FLIT = 60.0, 16.0
BY_PORT = Places(BETWEEN, np.arange(len(BETWEEN)), len(BETWEEN))


def by_class() -> Places:
    """Return the resolution of a router's sums: all its links of one class together."""
    kind = sum(number * FABRIC.of_class(name)[BETWEEN] for number, name in enumerate(LINK_CLASS_COLUMNS))
    keys, place = np.unique(FABRIC.links.dst[BETWEEN].astype(np.int64) * 3 + kind, return_inverse=True)
    return Places(BETWEEN, place, len(keys))


class Job:
    """A job: nodes, and the bytes per second that each sends to other nodes."""

    def __init__(
        self, nodes: NDArray[np.int64], rate: float, exchange: Exchange = Exchange.ALL_TO_ALL, seed: int = 1
    ) -> None:
        self.ends, self.rate = MACHINE.node_endpoint[nodes].astype(np.int64), rate
        pattern = exchange_pattern(self.ends, exchange, np.random.default_rng(seed))
        assert pattern is not None
        links, share = DragonflyPaths(FABRIC, MACHINE).loads(
            pattern.src, pattern.dst, pattern.share, FABRIC.endpoints.router
        )
        self.bytes = np.zeros(len(FABRIC.links))
        self.bytes[links] = share
        self.sent = np.bincount(pattern.src, pattern.share, len(ROUTER))[self.ends]
        self.received = np.bincount(pattern.dst, pattern.share, len(ROUTER))[self.ends]

    def traffic(self, rate: float, cards: NDArray[np.bool_]) -> JobTraffic:
        moved = [np.where(cards[self.ends], side * rate * SECONDS, np.nan) for side in (self.sent, self.received)]
        return JobTraffic(ROUTER[self.ends], *moved)


def moment(
    jobs: Sequence[Job], rates: Sequence[float], places: Places, cards: NDArray[np.bool_] | None = None
) -> Moment:
    """Return the counters while jobs send at multiples of their rates (0: not running). A flit's waiting time grows with the fourth power of the load."""
    cards = np.ones(len(ROUTER), bool) if cards is None else cards
    carried = sum(job.bytes[BETWEEN] * job.rate * times for job, times in zip(jobs, rates, strict=True)) * SECONDS
    flits = np.asarray(carried) / FLIT
    waits = 3 * np.minimum(np.asarray(carried) / SECONDS / CAPACITY, 1.5) ** 4
    traffic = [job.traffic(job.rate * times, cards) if times else None for job, times in zip(jobs, rates, strict=True)]
    return Moment(SECONDS, places.sums(flits), places.sums(flits * waits), traffic)


def four_jobs() -> list[Job]:
    """Return the slow job, one that fills the machine, one that always runs, and a small one that started later."""
    order = np.random.default_rng(7).permutation(MACHINE.nodes)
    return [
        Job(np.sort(order[:128]), 1.5e9, Exchange.NEIGHBOUR),
        Job(np.sort(order[128:448]), 9e9),
        Job(np.sort(order[448:640]), 2e9),
        Job(np.sort(order[640:680]), 1e9),
    ]
