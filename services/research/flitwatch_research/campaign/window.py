"""The fabric around one run: utilisation of its routers, of global links, of the file system and of other routers, over time.

Loads are linear in flows and independent of owners: a window contains J flows, each with a footprint and three rates over time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_research.campaign.background import Background
from flitwatch_research.campaign.footprint import Footprints
from flitwatch_twin.applications import Application
from flitwatch_twin.calendar import day_load
from flitwatch_twin.machine import IntArray, Machine

#: Resolution of a window.
DT_S = 2.0
#: Capacity of a router, a processor side, and a group's global links, in node-rates.
ROUTER, PROCESSOR, GLOBAL = 10.0, 6.0, 420.0
#: Share of a load spread over the group by adaptive routing.
SPREAD = 0.5
#: One in this many of the other routers is sampled.
REST_STRIDE = 16
#: Share of an incast's load of a router that blocks the router's processor side.
BLOCKED = 0.35
#: Utilisation of the file system's network side per unit of served I/O, and from everyday use.
IO_SCALE, IO_EVERYDAY = 0.35, 0.15

Array = NDArray[np.float32]
Float = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates of J flows per node at T times: float32[T, J] each."""

    exchange: Array
    io: Array
    incast: Array


@dataclass(frozen=True, eq=False)
class View:
    """Routers relevant for a run.

    `own` are its routers and `weight` its share of nodes on them. `io` serve the file system. `rest` is a sample of the others, each
    representing `rest_scale` of them.
    """

    own: IntArray
    weight: Float
    io: IntArray
    rest: IntArray
    rest_scale: float
    groups: IntArray

    @classmethod
    def of(cls, machine: Machine, nodes: IntArray) -> View:
        """Return the view of a run on the given nodes."""
        own, count = np.unique(machine.node_router[nodes], return_counts=True)
        other = np.setdiff1d(np.arange(machine.routers), np.concatenate([own, machine.io_router]))
        rest = other[::REST_STRIDE]
        return cls(own, count / count.sum(), machine.io_router, rest, len(other) / len(rest), machine.group_of[own])


@dataclass(frozen=True, eq=False)
class Window:
    """Utilisations over T times: `router` and `processor` float32[T, own routers], `global_` float32[T, G].

    `io`, `queue_s` float64[T]; `others_router`, `others_processor`: the same without the run's own load; `io_router` and `rest_router`,
    `rest_processor` float32[T, ...]: for the routers of the view.
    """

    router: Array
    processor: Array
    global_: Array
    io: Float
    queue_s: Float
    others_router: Array
    others_processor: Array
    io_router: Array
    rest_router: Array
    rest_processor: Array
    io_served: Float


class Linear:
    """The linear part: contributions of flows to loads, so that omitting a flow is a subtraction."""

    def __init__(self, machine: Machine, view: View, prints: Footprints) -> None:
        group_size = machine.group_size

        def by_group(loads: Array) -> Array:
            means: Array = loads.reshape(len(loads), machine.groups, group_size).mean(axis=2)
            return means

        self._router = (prints.router, prints.io_router, prints.incast)
        self._router_mean = tuple(by_group(loads) for loads in self._router)
        self._prints = prints
        self._machine, self._view = machine, view

    def router(self, rates: Rates, flows: NDArray[np.int64], routers: IntArray) -> Array:
        """Return the given flows' utilisation of routers: float32[T, len(routers)]."""
        group = self._machine.group_of[routers]
        result = np.zeros((len(rates.exchange), len(routers)), np.float32)
        kinds = (rates.exchange, rates.io, rates.incast)
        for rate, load, mean in zip(kinds, self._router, self._router_mean, strict=True):
            some = flows[rate[:, flows].any(axis=0)]
            if len(some):
                shares = (
                    np.float32(1 - SPREAD) * load[some[:, None], routers] + np.float32(SPREAD) * mean[some][:, group]
                )
                result += rate[:, some] @ shares
        result /= np.float32(ROUTER)
        return result

    def processor(self, rates: Rates, flows: NDArray[np.int64], routers: IntArray) -> Array:
        """Return the utilisation of routers' processor sides; an incast also blocks other traffic at its hot routers."""
        node_rate = rates.exchange[:, flows] + np.float32(0.5) * rates.io[:, flows]
        result: Array = node_rate @ self._prints.processor[flows[:, None], routers] / np.float32(PROCESSOR)
        some = flows[rates.incast[:, flows].any(axis=0)]
        if len(some):
            hot = self._prints.incast[some[:, None], routers] * np.float32(BLOCKED / ROUTER)
            result += rates.incast[:, some] @ hot
        return result

    def global_(self, rates: Rates, flows: NDArray[np.int64]) -> Array:
        """Return utilisation of every group's global links."""
        result: Array = (
            (rates.exchange[:, flows] + np.float32(0.6) * rates.io[:, flows])
            @ self._prints.global_[flows]
            / np.float32(GLOBAL)
        )
        return result


def observe_window(
    machine: Machine,
    view: View,
    app: Application,
    own: Footprints,
    linear: Linear,
    rates: Rates,
    background: Background,
    time_s: Float,
) -> Window:
    """Return all utilisations around a run at the given times; `own` is the run's footprint (J = 1)."""
    level = background.level(time_s)
    everyone = np.arange(rates.exchange.shape[1])
    group_of, demand = machine.group_of, np.float32(app.demand)
    looked_at = np.concatenate([view.own, view.io, view.rest])
    routers = linear.router(rates, everyone, looked_at) + level[:, group_of[looked_at]]
    others_router, io_router, rest_router = np.split(routers, np.cumsum([len(view.own), len(view.io)]), axis=1)
    others_processor = linear.processor(rates, everyone, view.own) + 0.5 * level[:, view.groups]
    global_ = linear.global_(rates, everyone) + level
    arrivals, queue_s = background.io(time_s)
    return Window(
        router=others_router + demand * own.router[0, view.own] / np.float32(ROUTER),
        processor=others_processor + demand * own.processor[0, view.own] / np.float32(PROCESSOR),
        global_=global_ + demand * own.global_[0] / np.float32(GLOBAL),
        io=IO_SCALE * arrivals + IO_EVERYDAY * day_load(time_s),
        queue_s=queue_s,
        others_router=others_router,
        others_processor=others_processor,
        io_router=io_router,
        rest_router=rest_router,
        rest_processor=linear.processor(rates, everyone, view.rest) + 0.5 * level[:, group_of[view.rest]],
        io_served=arrivals,
    )
