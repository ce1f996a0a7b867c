"""Routes of a machine, and the counted places on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_db.diagnosis import measured
from flitwatch_db.fabrics.route_changes import routes_at
from flitwatch_domain.attribution import Places
from flitwatch_domain.counters import COUNT_BYTES, LINK_CLASS_COLUMNS
from flitwatch_domain.diagnosis import Turns
from flitwatch_domain.fabric import CountedAt, Fabric
from flitwatch_domain.kept import Kept
from flitwatch_domain.link_shares import JobTraffic, Routes, io_nodes
from flitwatch_domain.link_waits import PortCounts
from flitwatch_domain.routes import routes_of

Conn = psycopg.Connection[Any]
#: Flits and stall cycles, by name.
Columns = tuple[tuple[str, str], ...]
Floats = NDArray[np.float64]

#: Maximum number of switches for which links' waits are computed: more take seconds.
MOST_SWITCHES = 256
#: Maximum numbers of cached machines and placements: running jobs are queried repeatedly.
_MOST_MAPS, _MOST_WAYS = 4, 64


@dataclass(frozen=True)
class Way:
    """Routes of a job's traffic, assuming that all its nodes send equally.

    Attributes
    ----------
    weight : float64 (places,)              part of the traffic that passes each place
    of_routers : float64 (routers, columns) part of the traffic that passes each router, by the columns of its sums
    load : float64 (links,)                 bytes on each link, up to a common factor
    """

    weight: Floats
    of_routers: Floats
    load: Floats


class CountedRoutes:
    """Counted places of a machine and its routes, cached for each version of a fabric and its routes.

    A place is a class of links at a router if the counter tables contain sums by class. Otherwise a switch has three places: its links up, its links
    down to switches, and its links to nodes.

    Parameters
    ----------
    routes : Routes or None    routes of the fabric; None: assumed for such a machine

    Attributes
    ----------
    columns : columns of the routers' tables, flits and stall cycles of each kind of sum
    between : bool (links,)    links between routers
    turns : turns of the fabric, if waits are counted at the sending port
    serves : whether the machine has nodes of a file system
    capacity : float64 (links,)    bytes per second
    by_class : whether places are classes of links
    """

    def __init__(self, fabric: Fabric, routes: Routes | None = None) -> None:
        self.fabric = fabric
        self.routes = routes_of(fabric) if routes is None else routes
        self.flit_bytes = COUNT_BYTES.get(fabric.technology)
        self.columns = tuple(LINK_CLASS_COLUMNS.values())
        self.between = fabric.router_links()
        kind = np.full(len(fabric.links), -1, np.int64)
        for number, name in enumerate(LINK_CLASS_COLUMNS):
            kind[self.between & fabric.of_class(name)] = number
        self.turns: Turns | None = None
        self.capacity = fabric.links.bandwidth_bps / 8 * fabric.links.multiplicity
        self.by_class = bool((kind >= 0).any())
        end = (fabric.links.src if fabric.counted_at is CountedAt.SENDER else fabric.links.dst).astype(np.int64)
        if self.by_class:
            link_ids, kinds = np.flatnonzero(kind >= 0), len(self.columns)
            self._sum = end[link_ids] * kinds + kind[link_ids]
            self.places = Places(link_ids, self._sum, len(fabric.routers) * kinds)
        else:
            self.columns = (("rt_flits", "rt_stall_cycles"),)
            self.places = _sending_ports(fabric)
            self._sum = end[self.places.links]
            self.turns = Turns(fabric)
        self.serves = bool(len(io_nodes(fabric)))
        self._ways = Kept[Way](_MOST_WAYS)

    def way(self, routers: Sequence[int], endpoints: Sequence[int], to_file_system: bool = False) -> Way:
        """Return the paths of a job's traffic, among its nodes or to the file system; each node has a router and an endpoint (-1: unknown)."""
        router, endpoint = np.array(routers, np.int64), np.array(endpoints, np.int64)
        key = router.tobytes() + endpoint.tobytes() + bytes([to_file_system])
        known = self._ways.find(key)
        if known is not None:
            return known
        back = np.zeros(len(router)) if to_file_system else np.ones(len(router))
        alike = JobTraffic(router, np.ones(len(router)), back, endpoint if (endpoint >= 0).all() else None)
        return self._ways.keep(key, self._made_way(alike))

    def add_cards(self, ports: PortCounts, moved: Floats) -> None:
        """Add one interval's counts of network cards: `moved` (3, endpoints), bytes sent and received and cycles waited."""
        links, routers, word = self.fabric.links, len(self.fabric.routers), COUNT_BYTES[self.fabric.technology]
        for end, side in ((links.src - routers, 0), (links.dst - routers, 1)):
            card_links = np.flatnonzero((end >= 0) & (end < moved.shape[1]) & np.isnan(ports.carried))
            ports.carried[card_links] = moved[side, end[card_links]] / word
        sends = np.flatnonzero((links.src >= routers) & (links.src - routers < moved.shape[1]))
        ports.waited[ports.count[sends]] = moved[2, links.src[sends] - routers]

    def _looked_at(self, load: Floats) -> NDArray[np.bool_]:
        """Select links whose waiting is computed, on at most `MOST_SWITCHES` switches of a path, in equal steps from most to least traffic."""
        src, switches = self.fabric.links.src, len(self.fabric.routers)
        switch_loads = np.bincount(src, load, len(self.fabric.endpoints) + switches)[:switches]
        order = np.argsort(-switch_loads, kind="stable")[: np.count_nonzero(switch_loads)]
        chosen = np.zeros(len(self.fabric.endpoints) + switches, bool)
        chosen[order[:: max(1, math.ceil(len(order) / MOST_SWITCHES))]] = True
        return chosen[src]

    def _made_way(self, alike: JobTraffic) -> Way:
        counted = self.places.links
        load = np.zeros(self.routes.links)
        link_ids = counted if self.by_class else np.arange(self.routes.links)
        load[link_ids] = self.routes.loads([alike], link_ids, 0.0)[:, 0]
        inner = np.where(self.between, load, 0.0)
        size = len(self.fabric.routers) * len(self.columns)
        there = self._sum < size
        sums = np.bincount(self._sum[there], inner[counted[there]], size)
        if not self.by_class:
            load = np.where(self._looked_at(load), load, 0.0)
        weight = self.places.sums(load[counted]) if inner.any() else np.zeros(self.places.count)
        parts = (values / max(float(values.sum()), 1e-300) for values in (weight, sums))
        return Way(next(parts), next(parts).reshape(-1, len(self.columns)), load)


def _sending_ports(fabric: Fabric) -> Places:
    """Return links over which switches send, by place; empty if waits are not counted at the sending port, or in unknown units."""
    links, routers = fabric.links, len(fabric.routers)
    if fabric.counted_at is not CountedAt.SENDER or fabric.technology not in COUNT_BYTES:
        return Places(np.empty(0, np.int64), np.empty(0, np.int64), 0)
    link_ids = np.flatnonzero(links.src < routers)
    src, dst = links.src[link_ids].astype(np.int64), links.dst[link_ids].astype(np.int64)
    level = np.append(fabric.routers.level, np.full(len(fabric.endpoints), -1))
    to_node, rises = dst >= routers, level[dst] > level[src]
    key = np.where(to_node | rises, src, dst) * 3 + np.where(to_node, 0, np.where(rises, 1, 2))
    names, place = np.unique(key, return_inverse=True)
    return Places(link_ids, place.astype(np.int64), len(names))


_made_routes = Kept[CountedRoutes](_MOST_MAPS)


def counted_routes(
    conn: Conn, fabric_id: int, from_s: float, to_s: float, fabric: Fabric | None = None
) -> CountedRoutes:
    """Return the counted routes of a machine in [from, to), epoch seconds, cached until its fabric or tables are written again."""
    fabric = measured.fabric_of(conn, fabric_id) if fabric is None else fabric
    routes = routes_at(conn, fabric_id, fabric, from_s, to_s)
    return _made_routes.find(id(routes), routes) or _made_routes.keep(id(routes), CountedRoutes(fabric, routes), routes)
