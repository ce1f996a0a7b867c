"""Packet samples (Taffet 2021, chapter 2): the links that a receiver tests for a packet (algorithm 6), and the reported estimates.

Packets contain a link's number, one more than its index in the fabric, because the hash needs non-zero names of at most 16 bits.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.errors import BadInput
from flitwatch_domain.fabric import Fabric

#: Link numbers must fit the hash's 16-bit lanes and, in the standard variant, the identification field of an IP header.
MOST_LINKS = 2**16 - 1


def link_number(link: int) -> int:
    """Return a link's number in packets."""
    return link + 1


#: The 99th percentile of a normal distribution (section 2.5.1).
_Z99 = 2.33


def clip_estimates(estimate: NDArray[np.float64], variance: NDArray[np.float64], one_bit: bool) -> NDArray[np.float64]:
    """Clip estimates of packets for display: at least 0, and in the one-bit variant 0 if a link without traffic could have the same estimate.

    The paper's bound for this, 2.33 L sqrt(tested), is 2.33 standard deviations of a link without traffic if all paths have L links.
    """
    least = _Z99 * np.sqrt(variance) if one_bit else 0.0
    return np.where(estimate > least, np.maximum(estimate, 0.0), 0.0)


class Reach:
    """Hop counts between the vertices of a fabric, from one breadth-first search per vertex. Raise BadInput if the fabric has more links than 16-bit
    names."""

    def __init__(self, fabric: Fabric) -> None:
        if len(fabric.links) > MOST_LINKS:
            raise BadInput(
                f"{len(fabric.links)} directed links; packets can name {MOST_LINKS}",
                where=fabric.name,
                advice="Sample a part of the fabric, or merge parallel cables.",
            )
        self._fabric = fabric
        self._src = np.asarray(fabric.links.src)
        self._dst = np.asarray(fabric.links.dst)
        self._next = _list_leaving_links(fabric.vertices, self._src)
        self._before = _list_leaving_links(fabric.vertices, self._dst)
        self._from: dict[int, NDArray[np.int64]] = {}
        self._to: dict[int, NDArray[np.int64]] = {}

    def candidates(self, source: int, destination: int, detour: int = 0) -> NDArray[np.int64]:
        """Return the sorted indices of links on paths from endpoint `source` to endpoint `destination`, at most `detour` hops longer than the
        shortest. Raise BadInput if there is no path."""
        routers = len(self._fabric.routers)
        begin, end = routers + source, routers + destination
        there = self._from.setdefault(begin, self._measure_distances(begin, self._next))
        remaining = self._to.setdefault(end, self._measure_distances(end, self._before))
        shortest = there[end]
        if shortest < 0:
            names = self._fabric.endpoints.node
            raise BadInput(f"no path leads from {names[source]} to {names[destination]}", where=self._fabric.name)
        on_way = (there[self._src] >= 0) & (remaining[self._dst] >= 0)
        return np.flatnonzero(on_way & (there[self._src] + 1 + remaining[self._dst] <= shortest + detour))

    def path(self, source: int, destination: int) -> list[int]:
        """Return the links of the shortest path in order; ties go to the lowest link numbers."""
        routers = len(self._fabric.routers)
        at, end = routers + source, routers + destination
        remaining = self._to.setdefault(end, self._measure_distances(end, self._before))
        links: list[int] = []
        while at != end:
            onward = [
                link for link in self._next[at] if remaining[self._dst[link]] == remaining[at] - 1 and remaining[at] > 0
            ]
            if not onward:
                raise BadInput("no path leads there", where=self._fabric.name)
            links.append(onward[0])
            at = int(self._dst[onward[0]])
        return links

    def _measure_distances(self, vertex: int, neighbours: list[list[int]]) -> NDArray[np.int64]:
        ends = self._dst if neighbours is self._next else self._src
        routers = len(self._fabric.routers)
        hops = np.full(self._fabric.vertices, -1, np.int64)
        hops[vertex] = 0
        waiting = deque([vertex])
        while waiting:
            at = waiting.popleft()
            if at >= routers and at != vertex:
                continue  # endpoints do not forward
            for link in neighbours[at]:
                other = int(ends[link])
                if hops[other] < 0:
                    hops[other] = hops[at] + 1
                    waiting.append(other)
        return hops


def _list_leaving_links(vertices: int, ends: NDArray[np.int32]) -> list[list[int]]:
    leaving: list[list[int]] = [[] for _ in range(vertices)]
    for link, end in enumerate(ends.tolist()):
        leaving[end].append(link)
    return leaving
