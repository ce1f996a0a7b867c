"""Tables of AFAR (Taffet 2021, section 3.2.1): ftree tables with flows moved greedily from congested links to less loaded ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.baselines import ftree_tables
from flitwatch_routing.forwarding import links_by_port, way_of
from flitwatch_routing.tree import as_tree, next_links

Ints = NDArray[np.int64]
Traffic = tuple[NDArray, NDArray, NDArray]

#: Limit of ports examined over all moves, corresponding to AFAR's number of iterations. quartz1 takes seconds.
MOST_LOOKS = 4_000_000
#: Number of links, busiest first, that can be skipped because nothing relieves them before the search restarts with the busiest or ends.
PATIENCE = 256
#: Minimum relative relief of a link, because sums of bytes are rounded.
ROUNDING = 1e-9


def greedy_tables(fabric: Fabric, traffic: Traffic) -> Ints:
    """Return output ports (routers, endpoints) of a fat tree for traffic (src, dst, bytes).

    One entry at a time is moved from the busiest link to the port, among those on shortest up/down paths, that minimises the largest load of the
    affected links. Entries of the link's own switch come first, then those of upstream switches. A link that cannot be relieved is skipped, as in the
    dissertation's version. The search ends at a local optimum. Raise BadInput if the fabric is not a fat tree.
    """
    state = _Flows(fabric, ftree_tables(fabric), traffic)
    looks_left, moved = MOST_LOOKS, True
    while moved and looks_left > 0:
        moved, stuck = False, ~fabric.router_links()
        passed = 0
        while passed < PATIENCE and looks_left > 0:
            busiest = int(np.argmax(np.where(stuck, -1.0, state.load)))
            if stuck[busiest] or state.load[busiest] <= state.least:
                break
            move, looks = state.relief(busiest)
            looks_left -= looks
            if move is None:
                stuck[busiest] = True
                passed += 1
            else:
                state.apply(*move)
                moved = True
    return state.ports()


class _Flows:
    """Tables, and their traffic on switches and links.

    next (routers, endpoints): the next link, -1 for none;  flow (routers, endpoints): bytes for the endpoint through the switch;
    load (links,): bytes
    """

    def __init__(self, fabric: Fabric, ports: Ints, traffic: Traffic) -> None:
        tree, links = as_tree(fabric), fabric.links
        self._routers = len(fabric.routers)
        self._src, self._dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        self._port = links.src_port
        self._leaf = fabric.endpoints.router.astype(np.int64)
        self._out = links_by_port(fabric)
        self._usable = next_links(fabric, tree, self._out)
        self.next = way_of(fabric, ports)
        self.flow = np.zeros(ports.shape)
        self.load = np.zeros(len(links.src))
        src, dst, size = traffic
        apart = self._leaf[src] != self._leaf[dst]
        start = np.zeros(ports.shape)
        np.add.at(start, (self._leaf[src[apart]], dst[apart]), np.asarray(size, float)[apart])
        at, to = np.nonzero(start)
        bytes_ = start[at, to]
        self.least = ROUNDING * float(bytes_.max(initial=0.0))
        while len(at):  # up*/down* tables have no loops
            np.add.at(self.flow, (at, to), bytes_)
            link = self.next[at, to]
            going = link >= 0
            at, to, bytes_, link = at[going], to[going], bytes_[going], link[going]
            np.add.at(self.load, link, bytes_)
            inside = self._dst[link] < self._routers
            at, to, bytes_ = self._dst[link[inside]], to[inside], bytes_[inside]
        self._into = [np.flatnonzero((self._dst == r) & (self._src < self._routers)) for r in range(self._routers)]

    def ports(self) -> Ints:
        return np.where(self.next >= 0, self._port[np.maximum(self.next, 0)], -1)

    def relief(self, link: int) -> tuple[tuple[int, int, int] | None, int]:
        """Return the best (router, endpoint, new link) after which all affected links carry less than this one now, and the number of examined options."""
        at = self._src[link]
        ends = np.flatnonzero((self.next[at] == link) & (self.flow[at] > self.least))
        rows = np.full(len(ends), at), ends
        looks = 0
        while len(rows[0]):
            move, new_looks = self._find_best_move(link, *rows)
            looks += new_looks
            if move is not None:
                return move, looks
            rows = self._find_upstream_entries(*rows)
        return None, looks + 1

    def _find_upstream_entries(self, router: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return entries (router, endpoint) with traffic that lead to these."""
        entries: list[tuple[Ints, Ints]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for at in np.unique(router).tolist():
            into, ends = self._into[at], end[router == at]
            from_ = self._src[into]
            leads = (self.next[from_[:, None], ends] == into[:, None]) & (self.flow[from_[:, None], ends] > self.least)
            which, column = np.nonzero(leads)
            entries.append((from_[which], ends[column]))
        return np.concatenate([entry[0] for entry in entries]), np.concatenate([entry[1] for entry in entries])

    def _find_best_move(self, link: int, router: Ints, end: Ints) -> tuple[tuple[int, int, int] | None, int]:
        out = self._out[router]
        usable = self._usable[router, self._leaf[end]] & (out != self.next[router, end][:, None])
        row, port = np.nonzero(usable)
        if not len(row):
            return None, 0
        other, to, moved = out[row, port], end[row], self.flow[router[row], end[row]]
        old = self._trace_ways(self.next[router, end], end)[row]
        new = self._trace_ways(other, to)
        added = (new >= 0) & ~(new[:, :, None] == old[:, None, :]).any(axis=2)
        most = np.where(added, self.load[np.maximum(new, 0)] + moved[:, None], 0.0).max(axis=1)
        avoids = ~(new == link).any(axis=1)
        after = np.where(avoids, np.maximum(most, self.load[link] - moved), np.inf)
        best = int(np.argmin(after))
        if after[best] >= self.load[link] * (1 - ROUNDING):
            return None, len(row)
        return (int(router[row[best]]), int(to[best]), int(other[best])), len(row)

    def _trace_ways(self, first: Ints, end: Ints) -> Ints:
        """Return links between switches from a first one to endpoints: (paths, hops), -1 after the last."""
        hops = [first]
        while True:
            at = self._dst[np.maximum(hops[-1], 0)]
            here = (hops[-1] >= 0) & (at < self._routers)
            link = np.where(here, self.next[np.where(here, at, 0), end], -1)
            link = np.where((link >= 0) & (self._dst[link] < self._routers), link, -1)
            if not (link >= 0).any():
                return np.stack(hops, axis=1)
            hops.append(link)

    def apply(self, router: int, end: int, link: int) -> None:
        """Move an entry to another link."""
        moved = self.flow[router, end]
        for first, sign in ((int(self.next[router, end]), -1.0), (link, 1.0)):
            way = self._trace_ways(np.array([first]), np.array([end]))[0]
            self.load[way] += sign * moved
            self.flow[self._dst[way], end] += sign * moved
        self.next[router, end] = link
