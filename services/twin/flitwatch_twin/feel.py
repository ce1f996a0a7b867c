"""Waiting that slows a run: on the links that its own traffic takes, and at the file system."""

from __future__ import annotations

import numpy as np

from flitwatch_domain.fabric import Fabric, LinkClass
from flitwatch_twin.applications import Application, combine_stalls, saturate_slowdown
from flitwatch_twin.flows import FabricModel, FabricState, Flows, Pattern
from flitwatch_twin.machine import Nodes


class Places:
    """Links in each of the four places where waiting slows a run: router, processor, global, I/O (bool[L] each).

    Global links connect a dragonfly's groups, or are above a tree's second level.
    """

    def __init__(self, fabric: Fabric, machine: Nodes) -> None:
        links, routers = fabric.links, len(fabric.routers)
        level = np.append(fabric.routers.level, np.full(len(fabric.endpoints), -1))
        self.global_ = fabric.of_class(LinkClass.BLUE) | (np.minimum(level[links.src], level[links.dst]) > 0)
        self.processor = ~fabric.router_links()
        self.router = ~self.processor & ~self.global_
        self.io = np.flatnonzero(np.isin(links.dst, routers + machine.io_endpoint))


class RunView:
    """One run's view of the fabric.

    Its own traffic is routed once on the empty fabric. Its share of each link weights the waiting there. Additional load can only increase the
    slowdown.
    """

    def __init__(self, application: Application, places: Places, model: FabricModel, pattern: Pattern | None) -> None:
        self._sensitivity, self._most = application.sensitivity, application.most_slowdown
        self._io = places.io
        own = np.zeros(len(places.global_))
        if pattern is not None:
            own = model.step(Flows((pattern,), np.ones(1)), 1.0).link_bytes
        self._links = [np.flatnonzero(place & (own > 0)) for place in (places.router, places.processor, places.global_)]
        self._weights = [own[links] / max(own[links].sum(), 1e-300) for links in self._links]

    def slowdown(self, state: FabricState) -> float:
        """Return F: communication advances at 1 / (1 + F)."""
        s = self._sensitivity.vector()
        raw = s[3] * float(state.link_wait[self._io].mean()) if len(self._io) else 0.0
        for factor, links, weight in zip(s, self._links, self._weights, strict=False):
            if len(links):
                raw += factor * float(combine_stalls(state.link_wait[links], weight))
        return float(saturate_slowdown(raw, self._most))
