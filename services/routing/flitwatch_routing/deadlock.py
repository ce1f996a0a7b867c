"""Deadlocks of forwarding tables on one virtual lane: cycles of channel dependencies (Dally and Seitz 1987)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import way_of

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Dependencies:
    """cycle: links (indices into the fabric's) whose channel dependencies form a cycle, empty if there is none;  pairs: number of distinct dependencies"""

    cycle: tuple[int, ...]
    pairs: int

    def named(self, fabric: Fabric) -> str:
        """Return the names of the cycle's switches; the first one is repeated at the end."""
        names, links = fabric.routers.name, fabric.links
        return " -> ".join(str(names[links.src[link]]) for link in (*self.cycle, *self.cycle[:1]))


def find_dependencies(fabric: Fabric, ports: Ints, unknown: NDArray[np.bool_] | None = None) -> Dependencies:
    """Return dependencies of links between switches under `ports` (routers, destinations), for paths from all endpoints to all but the `unknown` (endpoints,).

    Entries not used by any path from an endpoint are ignored. A path that ends early or loops counts up to that point.
    """
    first, second = _collect_link_pairs(fabric, ports, unknown)
    return Dependencies(_find_cycle(first, second), len(first))


def _collect_link_pairs(fabric: Fabric, ports: Ints, unknown: NDArray[np.bool_] | None) -> tuple[Ints, Ints]:
    routers, columns = ports.shape
    dst, links = fabric.links.dst.astype(np.int64), len(fabric.links.src)
    way = way_of(fabric, ports)
    reached = np.zeros(ports.shape, bool)
    sources = np.unique(fabric.endpoints.router).astype(np.int64)
    ends = np.arange(columns) if unknown is None else np.flatnonzero(~np.repeat(unknown, columns // len(unknown)))
    at, to = np.repeat(sources, len(ends)), np.tile(ends, len(sources))
    pair_keys = np.zeros(0, np.int64)
    while len(at):
        reached[at, to] = True
        link = way[at, to]
        on = (link >= 0) & (dst[link] < routers)
        link, to = link[on], to[on]
        at = dst[link]
        following = way[at, to]
        waits = (following >= 0) & (dst[following] < routers)
        pair_keys = np.union1d(pair_keys, link[waits] * links + following[waits])
        new = np.unique((at * columns + to)[~reached[at, to]])
        at, to = np.divmod(new, columns)
    return np.divmod(pair_keys, links)


def _find_cycle(first: Ints, second: Ints) -> tuple[int, ...]:
    """Return a cycle of the graph with these edges, a shortest one through one vertex; empty if there is none."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    vertices, dense = np.unique(np.concatenate([first, second]), return_inverse=True)
    from_, to = dense[: len(first)], dense[len(first) :]
    size = (len(vertices), len(vertices))
    count, part = connected_components(coo_matrix((np.ones(len(from_)), (from_, to)), size), True, "strong")
    # Two routers have separate links in each direction, so no link depends on itself.
    if count == len(vertices):
        return ()
    within = part[from_] == part[to]
    from_, to = from_[within], to[within]
    start = int(from_[0])
    graph = coo_matrix((np.ones(len(from_)), (from_, to)), size).tocsr()
    order, before = breadth_first_order(graph, start)
    back = set(from_[to == start].tolist())
    at = next(int(vertex) for vertex in order if int(vertex) in back)
    cycle = [at]
    while at != start:
        at = int(before[at])
        cycle.append(at)
    return tuple(vertices[cycle[::-1]].tolist())
