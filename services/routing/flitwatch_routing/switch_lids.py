"""Entries for switch LIDs, and for endpoints that a switch can reach only by a detour.

A subnet manager that reads tables from a file gives no path to LIDs missing in the file. Switches have LIDs too, for performance and management queries.
Paths go up, then down, if such a path exists; otherwise they are shortest paths.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import links_by_port, way_of
from flitwatch_routing.tree import on_leaves

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: The port of a switch's own LID.
OWN_PORT = 0


def towards_switches(fabric: Fabric) -> Ints:
    """Return the port (routers, routers) from each switch (row) to each other (column); `OWN_PORT` on the diagonal, -1 if they are not connected.

    The result has no loops: every step shortens the path down, else the path up and down, else the number of hops.
    """
    routers = len(fabric.routers)
    out = links_by_port(fabric)
    head = np.where(out >= 0, fabric.links.dst[out], routers).astype(np.int64)
    head[head >= routers] = -1
    hops = _count_hops(head)
    rank = _rank_switches(fabric, hops)
    down, up_down = np.full((routers, routers), np.inf), np.full((routers, routers), np.inf)
    order = np.argsort(rank)
    for at in order.tolist():
        there = _distinct_neighbours(head[at])
        below = there[rank[there] < rank[at]]
        down[at] = down[below].min(axis=0, initial=np.inf) + 1
        down[at, at] = 0
    for at in order[::-1].tolist():
        there = _distinct_neighbours(head[at])
        above = there[rank[there] > rank[at]]
        climb = up_down[above].min(axis=0, initial=np.inf) + 1
        up_down[at] = np.where(np.isfinite(down[at]), down[at], climb)
    result = np.full((routers, routers), -1)
    for at in range(routers):
        port = np.flatnonzero(head[at] >= 0)
        there = head[at, port]
        lower, upper = (rank[there] < rank[at])[:, None], (rank[there] > rank[at])[:, None]
        falls = np.isfinite(down[at])
        climbs = ~falls & np.isfinite(up_down[at])
        leads = np.where(
            falls,
            lower & (down[there] == down[at] - 1),
            np.where(climbs, upper & (up_down[there] == up_down[at] - 1), hops[there] == hops[at] - 1),
        )
        leads &= np.isfinite(hops[at])
        result[at] = _spread_ports(leads, port)
        result[at, at] = OWN_PORT
    return result


def complete_tables(fabric: Fabric, ports: Ints, towards: Ints) -> Ints:
    """Return `ports` (routers, endpoints * 2^lmc) with missing entries filled by the path to the endpoint's switch if there is one.

    No path between endpoints of leaves uses such an entry, or its switch would have had one. Each one leads closer to an existing entry or to
    the endpoint's own switch.
    """
    each = ports.shape[1] // max(len(fabric.endpoints), 1)
    router = np.repeat(fabric.endpoints.router.astype(np.int64), each)
    detour = towards[:, router]
    detour[router, np.arange(len(router))] = np.repeat(fabric.endpoints.port, each)
    return np.where(ports >= 0, ports, detour)


def repair_tables(fabric: Fabric, loaded: Ints, towards: Ints) -> Ints:
    """Return loaded entries for switches (routers, routers), with columns from `towards` if a loaded entry of the column is missing, loops or misroutes."""
    bad = np.logical_and(towards >= 0, np.logical_not(_find_arrivals(fabric, loaded))).any(axis=0)
    return np.where(bad, towards, loaded)


def find_unreached(fabric: Fabric, ports: Ints) -> Ints:
    """Return pairs (switch, destination switch) connected by cables but not by `ports` (routers, routers): (pairs, 2)."""
    joined = towards_switches(fabric) >= 0
    return np.argwhere(joined & ~_find_arrivals(fabric, ports))


def _find_arrivals(fabric: Fabric, ports: Ints) -> Bools:
    """Return whether following `ports` from each switch (row) ends at each (column)."""
    routers = len(ports)
    links, every = fabric.links, np.arange(routers)
    way = way_of(fabric, ports)
    following = np.where(way >= 0, links.dst[np.maximum(way, 0)], routers).astype(np.int64)
    following[following >= routers] = routers
    following[every, every] = every
    following = np.vstack([following, np.full(routers, routers)])
    at = np.repeat(every[:, None], routers, axis=1)
    # Pointer doubling: 2^k steps after k rounds, enough for the longest path without a loop.
    for _ in range(max(routers, 2).bit_length()):
        following = np.take_along_axis(following, following, axis=0)
    arrived: Bools = np.equal(following[at, every[None, :]], every)
    return arrived


def _distinct_neighbours(heads: Ints) -> Ints:
    return np.unique(heads[heads >= 0])


def _spread_ports(leads: Bools, port: Ints) -> Ints:
    """Return one of the usable ports, (destinations,), round robin over destinations; -1 if there is none."""
    if not len(port):
        return np.full(leads.shape[1], -1)
    count = leads.sum(axis=0)
    turn = np.arange(leads.shape[1]) % np.maximum(count, 1)
    chosen = (leads & (np.cumsum(leads, axis=0) == turn + 1)).argmax(axis=0)
    return np.where(count > 0, port[chosen], -1)


def _count_hops(head: Ints) -> Floats:
    """Return hops (routers, routers) over cables, infinite if not connected."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import shortest_path

    src, port = np.nonzero(head >= 0)
    graph = coo_matrix((np.ones(len(src)), (src, head[src, port])), (len(head), len(head))).tocsr()
    return shortest_path(graph, unweighted=True)


def _rank_switches(fabric: Fabric, hops: Floats) -> Ints:
    """Return each switch's position in an order by hops from the nearest leaf (routers,), which defines up and down on any fabric."""
    leaves = np.unique(fabric.endpoints.router[on_leaves(fabric)])
    height = hops[leaves].min(axis=0) if len(leaves) else np.zeros(len(hops))
    result = np.empty(len(hops), np.int64)
    result[np.argsort(height, kind="stable")] = np.arange(len(hops))
    return result
