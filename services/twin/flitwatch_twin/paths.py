"""Static paths over a dragonfly's links, as sparse link loads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_core.fluid import Gather
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import Fabric
from flitwatch_twin.machine import Machine

Int = NDArray[np.int64]
Loads = tuple[NDArray[np.int32], NDArray[np.float64]]

#: Share of the bytes between two groups that is routed through a third group, as adaptive routing does under load.
NON_MINIMAL = 0.25


class DragonflyPaths:
    """Routes flows deterministically: a hash of their ends spreads them over cables, corners and gateways.

    Inside a group a path takes at most a row and a column link (either first); between groups it goes through a gateway and a blue cable. A share
    `NON_MINIMAL` goes through a third group. Bytes are conserved at every router by construction.
    """

    def __init__(self, fabric: Fabric, machine: Machine) -> None:
        self._machine = machine
        self._gather = Gather(len(fabric.links))
        links = fabric.links
        between = np.flatnonzero(fabric.router_links())
        src, dst = links.src[between].astype(np.int64), links.dst[between].astype(np.int64)
        local = machine.group_of[src] == machine.group_of[dst]
        self._local_first, self._local_count, self._local_links = self._index_links(
            src[local] * machine.group_size + dst[local] % machine.group_size,
            between[local],
            machine.routers * machine.group_size,
        )
        away = ~local
        self._blue_first, self._blue_count, self._blue_links = self._index_links(
            machine.group_of[src[away]] * machine.groups + machine.group_of[dst[away]], between[away], machine.groups**2
        )
        self._src, self._dst = links.src.astype(np.int64), links.dst.astype(np.int64)
        self._up, self._down = self._find_terminals(fabric)
        self._check()

    @staticmethod
    def _index_links(key: Int, link: Int, size: int) -> tuple[Int, Int, Int]:
        """Index links by key: return the first position and the count of each key in one sorted list."""
        order = np.argsort(key, kind="stable")
        count = np.bincount(key, minlength=size)
        return np.concatenate([[0], np.cumsum(count)[:-1]]), count, link[order]

    def _find_terminals(self, fabric: Fabric) -> tuple[Int, Int]:
        routers, endpoints, links = len(fabric.routers), len(fabric.endpoints), fabric.links
        up, down = np.full(endpoints, -1, np.int64), np.full(endpoints, -1, np.int64)
        inject, eject = np.flatnonzero(links.src >= routers), np.flatnonzero(links.dst >= routers)
        up[links.src[inject] - routers] = inject
        down[links.dst[eject] - routers] = eject
        if endpoints and (up.min() < 0 or down.min() < 0):
            raise BadRequest(f"fabric {fabric.name!r} has endpoints without links")
        return up, down

    def _check(self) -> None:
        machine = self._machine
        joined = self._blue_count.reshape(machine.groups, machine.groups) + np.eye(machine.groups, dtype=int)
        if not joined.all():
            first, second = np.argwhere(joined == 0)[0]
            raise BadRequest(
                f"groups {first} and {second} are not joined by a cable",
                advice="The twin requires links between every pair of groups.",
            )
        cell = np.arange(machine.group_size)
        row, col = cell // machine.cols, cell % machine.cols
        alike = ((row[:, None] == row) | (col[:, None] == col)) & (cell[:, None] != cell)
        have = self._local_count.reshape(machine.groups, machine.group_size, machine.group_size) > 0
        if not (have | ~alike).all():
            raise BadRequest(
                "a row or a column of some group is not all-to-all", advice="The twin requires full rows and columns."
            )

    def loads(
        self, src: NDArray[np.int32], dst: NDArray[np.int32], share: NDArray[np.float64], routers: NDArray[np.int32]
    ) -> Loads:
        """Return the bytes on links per unit rate.

        Parameters
        ----------
        src, dst : int32[F] endpoints; share : float64[F]; routers : int32[E], router of each endpoint.

        Returns
        -------
        links, bytes : int32[n] and float64[n]; each link at most once, terminals included.
        """
        begin, end = routers[src].astype(np.int64), routers[dst].astype(np.int64)
        salt = _mix_bits(src.astype(np.int64) * 1_000_003 + dst)
        link_parts: list[tuple[Int, NDArray[np.float64]]] = [(self._up[src], share), (self._down[dst], share)]
        group_of = self._machine.group_of
        same = group_of[begin] == group_of[end]
        self._route_within(begin[same], end[same], share[same], salt[same], link_parts)
        begin, end, share, salt = begin[~same], end[~same], share[~same], salt[~same]
        detour = NON_MINIMAL if self._machine.groups > 2 else 0.0
        for lane in (0, 1):
            self._route_between(begin, end, share * (1 - detour) / 2, _mix_bits(salt + lane), link_parts)
        if detour:
            self._route_around(begin, end, share * detour, _mix_bits(salt + 7), link_parts)
        links, weights = (np.concatenate(parts) for parts in zip(*link_parts, strict=True))
        loads: Loads = self._gather(links, weights)
        return loads

    def _pick_link(self, first: Int, count: Int, table: Int, key: Int, salt: Int) -> Int:
        return table[first[key] + salt % count[key]]

    def _add_hop(self, begin: Int, end: Int, share: NDArray[np.float64], salt: Int, found: list) -> None:
        """Add one local link if the ends differ."""
        moves = begin != end
        key = begin[moves] * self._machine.group_size + end[moves] % self._machine.group_size
        found.append(
            (self._pick_link(self._local_first, self._local_count, self._local_links, key, salt[moves]), share[moves])
        )

    def _route_within(self, begin: Int, end: Int, share: NDArray[np.float64], salt: Int, found: list) -> None:
        machine = self._machine
        base = begin - begin % machine.group_size
        by_row = base + machine.row_of[begin] * machine.cols + machine.col_of[end]
        by_col = base + machine.row_of[end] * machine.cols + machine.col_of[begin]
        corner = np.where(salt & 1, by_row, by_col)
        self._add_hop(begin, corner, share, salt >> 1, found)
        self._add_hop(corner, end, share, salt >> 1, found)

    def _route_between(self, begin: Int, end: Int, share: NDArray[np.float64], salt: Int, found: list) -> None:
        machine = self._machine
        key = machine.group_of[begin].astype(np.int64) * machine.groups + machine.group_of[end]
        blue = self._pick_link(self._blue_first, self._blue_count, self._blue_links, key, salt >> 3)
        self._route_within(begin, self._src[blue], share, salt, found)
        found.append((blue, share))
        self._route_within(self._dst[blue], end, share, salt >> 2, found)

    def _route_around(self, begin: Int, end: Int, share: NDArray[np.float64], salt: Int, found: list) -> None:
        """Add a route through a third group: to the router that the first blue cable reaches, then to the target."""
        machine = self._machine
        groups = machine.groups
        first, last = machine.group_of[begin].astype(np.int64), machine.group_of[end].astype(np.int64)
        low, high = np.minimum(first, last), np.maximum(first, last)
        third = salt % (groups - 2)
        third = third + (third >= low)
        third = third + (third >= high)
        blue = self._pick_link(self._blue_first, self._blue_count, self._blue_links, first * groups + third, salt >> 3)
        self._route_within(begin, self._src[blue], share, salt, found)
        found.append((blue, share))
        self._route_between(self._dst[blue], end, share, salt >> 5, found)


def _mix_bits(value: Int) -> Int:
    """Hash 64-bit integers to 62 bits (splitmix64's finaliser), so that choices do not follow node numbers."""
    x = value.astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)
