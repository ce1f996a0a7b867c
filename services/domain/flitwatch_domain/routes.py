"""Known routes of a machine: of a dragonfly, from forwarding tables, or of a fat tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric, FabricKind
from flitwatch_domain.link_shares import (
    DragonflyRoutes,
    Ends,
    FixedRoutes,
    Flows,
    JobTraffic,
    Routes,
    RoutesKnownBy,
    flows_of,
    io_nodes,
)
from flitwatch_domain.tree_routes import TerminalLoads, TreeRoutes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Maximum number of (switch, target) pairs processed together.
MOST_PAIRS = 1_000_000
#: Maximum number of switches on a path; a longer one is a loop and leads nowhere.
MOST_HOPS = 64
OTHER_FABRIC = "The forwarding tables belong to another version of the fabric."
HOLES = "The forwarding tables reach some nodes only from some switches."


class TableRoutes(FixedRoutes):
    """Expected loads of links of a fabric with its forwarding tables.

    Parameters
    ----------
    ports : integer (switches, endpoints)    port of each switch towards each endpoint; -1: no entry
    """

    known_by: RoutesKnownBy = "tables"

    def __init__(self, fabric: Fabric, ports: NDArray[np.integer]) -> None:
        self.reason: str | None = None
        self.links = len(fabric.links)
        switches, endpoints = len(fabric.routers), len(fabric.endpoints)
        if ports.shape != (switches, endpoints):
            self.reason = OTHER_FABRIC
            return
        led = ports >= 0
        # A node that no switch reaches is down.
        if (led.any(axis=0) & ~led.all(axis=0)).any():
            self.reason = HOLES
            return
        links = fabric.links
        self._switches, self._src, self._dst = switches, links.src.astype(np.int64), links.dst.astype(np.int64)
        here = np.flatnonzero((links.src < switches) & (links.src_port >= 0))
        width = max(int(links.src_port[here].max(initial=0)), int(ports.max(initial=0))) + 1
        at_port = np.full((switches, width), -1, np.int64)
        at_port[links.src[here], links.src_port[here]] = here
        self._next = np.where(led, at_port[np.arange(switches)[:, None], np.maximum(ports, 0)], -1)
        self._terminals = TerminalLoads(fabric)
        self._io = io = io_nodes(fabric)
        home = fabric.endpoints.router.astype(np.int64)
        self._sources, self._targets = Ends.of(home[io], switches), Ends.of(io, endpoints)

    def loads(self, jobs: Sequence[JobTraffic], links: Ints, detour: float) -> Floats:
        """Return the expected bytes of jobs on links, including endpoints' links: float64 (len(links), len(jobs))."""
        load = np.zeros((len(links), len(jobs)))
        row = np.full(self.links, -1, np.int64)
        row[links] = np.arange(len(links))
        pending: list[tuple[int, Flows]] = []
        pairs = 0
        injects = links[self._src[links] >= self._switches]
        for at, job in enumerate(jobs):
            load[row[injects], at] = self._terminals.loads(injects, job, self._io)
            flows = self._list_flows(job)
            if not len(flows):
                continue
            pending.append((at, flows))
            pairs += int(np.count_nonzero(flows.sent, axis=1) @ np.count_nonzero(flows.goes, axis=1))
            if pairs >= MOST_PAIRS:
                self._follow_flows(pending, row, load)
                pending, pairs = [], 0
        if pending:
            self._follow_flows(pending, row, load)
        return load

    def _list_flows(self, job: JobTraffic) -> Flows:
        """Return a job's traffic by switch and endpoint."""
        some = self._terminals.spread(job)
        assert some.endpoint is not None
        return flows_of([some], [some.router], self._sources, [some.endpoint], self._targets)

    def _follow_flows(self, flows: Sequence[tuple[int, Flows]], row: Ints, load: Floats) -> None:
        """Add the bytes of flows, each with its job, to loads (rows, jobs); `row` of each link, -1: not requested."""
        parts = []
        for number, sent, goes in (
            (job, *flow) for job, of_job in flows for flow in zip(of_job.sent, of_job.goes, strict=True)
        ):
            source, target = np.flatnonzero(sent), np.flatnonzero(goes)
            moved = np.outer(sent[source], goes[target]).ravel()
            parts.append(
                (np.repeat(source, len(target)), np.tile(target, len(source)), moved, np.full(len(moved), number))
            )
        at, target, moved, job = (np.concatenate(column) for column in zip(*parts, strict=True))
        for _ in range(MOST_HOPS):
            link = self._next[at, target]
            indices = np.flatnonzero((link >= 0) & (row[link] >= 0))
            key = row[link[indices]] * load.shape[1] + job[indices]
            load += np.bincount(key, moved[indices], load.size).reshape(load.shape)
            at = self._dst[link]
            on = np.flatnonzero((link >= 0) & (at < self._switches))
            at, target, moved, job = at[on], target[on], moved[on], job[on]
            if not len(at):
                return


def routes_of(fabric: Fabric, ports: NDArray[np.integer] | None = None) -> Routes:
    """Return the expected loads of a machine's links; `reason` says why there is no estimate.

    Parameters
    ----------
    ports : integer (switches, endpoints) or None
        Output ports of the loaded forwarding tables, -1 if there is no entry; None if unknown. Tables that do not match the fabric are ignored.
    """
    if fabric.kind is FabricKind.DRAGONFLY:
        return DragonflyRoutes(fabric)
    tables = None if ports is None else TableRoutes(fabric, ports)
    return tables if tables is not None and tables.reason is None else TreeRoutes(fabric)
