"""Groups of output ports for adaptive routing, with the split of a destination's traffic over each: an alternative to one port per entry.

They are derived from the optimiser: with 2^m LIDs per endpoint it finds 2^m paths to each, and a switch's ports on these paths are its group for that
endpoint. The split is the share of traffic per port, which reproduces the link loads of these paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain.fabric import Fabric
from flitwatch_routing.forwarding import links_by_port, way_of
from flitwatch_routing.lft import list_guids
from flitwatch_routing.lmc import first_lid, lids_each

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Traffic = tuple[NDArray, NDArray, NDArray]


@dataclass(frozen=True)
class PortGroups:
    """One row per port of a group, sorted by switch, endpoint and port.

    switch, endpoint, port : (rows,);  share : (rows,) share of the traffic for the endpoint that leaves the switch there; shares of a group sum to 1
    """

    switch: Ints
    endpoint: Ints
    port: Ints
    share: Floats

    def sizes(self) -> Ints:
        """Return the number of ports in each group."""
        return np.unique(self._group_keys(), return_counts=True)[1]

    def _group_keys(self) -> Ints:
        return self.switch * (int(self.endpoint.max(initial=0)) + 1) + self.endpoint


def groups_of(fabric: Fabric, ports: Ints, traffic: Traffic, lmc: int) -> PortGroups:
    """Return the groups of tables (routers, endpoints * 2^lmc), split by traffic, or evenly over the paths if there is none."""
    routers, ends, each = len(fabric.routers), len(fabric.endpoints), lids_each(lmc)
    carried = _forwarded_bytes(fabric, ports, traffic, each)
    used = np.flatnonzero(ports.reshape(-1) >= 0)
    at, column = np.divmod(used, ends * each)
    port = ports.reshape(-1)[used]
    width = int(port.max(initial=0)) + 1
    key = (at * ends + column // each) * width + port
    rows, of = np.unique(key, return_inverse=True)
    entry = rows // width
    size = np.bincount(of, carried.reshape(-1)[used], len(rows))
    total = np.bincount(entry, size, routers * ends)[entry]
    ways = np.bincount(of, minlength=len(rows)).astype(float)
    even = ways / np.bincount(entry, ways, routers * ends)[entry]
    share = np.where(total > 0, size / np.where(total > 0, total, 1.0), even)
    has_share = share > 0
    rows, entry = rows[has_share], entry[has_share]
    return PortGroups(entry // ends, entry % ends, rows % width, share[has_share])


def port_group_loads(fabric: Fabric, groups: PortGroups, traffic: Traffic) -> tuple[Floats, float]:
    """Return bytes (links,) with each switch splitting by its groups, and lost bytes: without a group, or in a loop."""
    routers, ends = len(fabric.routers), len(fabric.endpoints)
    src, dst, size = (np.asarray(column) for column in traffic)
    flow = np.bincount(fabric.endpoints.router[src] * ends + dst, np.where(src == dst, 0.0, size), routers * ends)
    link = links_by_port(fabric, int(groups.port.max(initial=0)))[groups.switch, groups.port]
    entry, to = groups.switch * ends + groups.endpoint, fabric.links.dst.astype(np.int64)
    load, lost = np.zeros(len(fabric.links)), 0.0
    led = np.zeros(routers * ends, bool)
    led[entry[link >= 0]] = True
    for _ in range(routers + 1):
        lost += float(flow[~led].sum())
        moved_bytes = np.where(link >= 0, flow[entry] * groups.share, 0.0)
        np.add.at(load, link[moved_bytes > 0], moved_bytes[moved_bytes > 0])
        on = (moved_bytes > 0) & (to[link] < routers)
        astray = (moved_bytes > 0) & (to[link] >= routers) & (to[link] != routers + groups.endpoint)
        lost += float(moved_bytes[astray].sum())
        if not on.any():
            return load, lost
        flow = np.bincount(to[link[on]] * ends + groups.endpoint[on], moved_bytes[on], routers * ends)
    return load, lost + float(flow.sum())


def format_port_groups(fabric: Fabric, groups: PortGroups, static: Ints, said: list[str]) -> Iterator[str]:
    """Yield the lines of the file (docs/contracts/files.md): `said` as comments, then each switch's groups and the group of each destination.

    static (routers, endpoints) : the port for non-adaptive routing; if it is not in the group, the group's busiest port is used
    """
    yield "# Port groups for adaptive routing, with fixed splits. No program loads this file: OpenSM 3.3.23, as in Debian, does not support adaptive routing."
    yield from (f"# {line}" for line in said)
    switches, ports = list_guids(fabric)
    first = first_lid(fabric, 0)
    starts = np.searchsorted(groups.switch, np.arange(len(fabric.routers) + 1))
    for router, guid in enumerate(switches):
        here = slice(int(starts[router]), int(starts[router + 1]))
        endpoint, port, share = groups.endpoint[here], groups.port[here], groups.share[here]
        cuts = np.flatnonzero(np.diff(endpoint, prepend=-1, append=-1))
        numbers: dict[tuple[tuple[int, str], ...], int] = {}
        entries = []
        for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            group = tuple(
                (int(port_number), f"{part:.4f}")
                for port_number, part in zip(port[low:high], share[low:high], strict=True)
            )
            to, alone = int(endpoint[low]), int(static[router, endpoint[low]])
            if alone not in port[low:high]:
                alone = int(port[low + int(np.argmax(share[low:high]))])
            entries.append((to, alone, numbers.setdefault(group, len(numbers) + 1)))
        yield f"switch 0x{guid:016x} '{fabric.routers.name[router]}'"
        for group, number in numbers.items():
            yield f"group {number} " + " ".join(f"{port_number}:{part}" for port_number, part in group)
        for to, alone, number in entries:
            yield f"lid 0x{first + to:04x} {alone:03d} group {number} # Channel Adapter portguid 0x{ports[to]:016x}: '{fabric.endpoints.node[to] or ''}'"


def _forwarded_bytes(fabric: Fabric, ports: Ints, traffic: Traffic, each: int) -> Floats:
    """Return the bytes forwarded by each entry of tables (routers, endpoints * each)."""
    routers, columns = ports.shape
    src, dst, size = (np.asarray(part) for part in traffic)
    way, to = way_of(fabric, ports), fabric.links.dst.astype(np.int64)
    leaf_bytes = np.bincount(fabric.endpoints.router[src] * (columns // each) + dst, np.where(src == dst, 0.0, size), routers * (columns // each))  # fmt: skip
    flow: Floats = np.repeat(leaf_bytes.reshape(routers, -1) / each, each, axis=1)
    carried = np.zeros(ports.shape)
    for _ in range(routers + 1):
        carried += flow
        at, column = np.nonzero((flow > 0) & (way >= 0))
        link = way[at, column]
        on = to[link] < routers
        if not on.any():
            return carried
        at, column, link = at[on], column[on], link[on]
        moved = np.bincount(to[link] * columns + column, flow[at, column], ports.size)
        flow = moved.astype(float).reshape(routers, columns)
    return carried
