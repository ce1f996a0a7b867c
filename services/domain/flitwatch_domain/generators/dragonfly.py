"""Dragonflies: groups of rows x columns routers, rows and columns all-to-all, groups joined by blue cables.

The blue wiring follows the cable lists of Theta and Edison. A group's peers in ascending order get consecutive blocks of its routers, counted down the
columns (row fastest), and again from the start in the next layer. The k-th router of group g's block for h is cabled to the k-th router of h's block
for g. Sizes and bandwidths of Theta: Wang 2018, section III.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flitwatch_domain import cray
from flitwatch_domain.errors import BadRequest
from flitwatch_domain.fabric import (
    ROLES,
    CountedAt,
    Endpoints,
    Fabric,
    FabricKind,
    LinkClass,
    NodeRole,
    Routers,
    Technology,
    both_directions,
)

CLASSES = (LinkClass.GREEN, LinkClass.BLACK, LinkClass.BLUE, LinkClass.TERMINAL)

#: Blue tile pairs in the order of the layers, for columns 0-7 and 8-15 (Theta's and Edison's cable lists; the fifth is our choice).
_BLUE_PAIRS = (((1, 2), (10, 3), (5, 6), (4, 13), (11, 12)), ((5, 6), (4, 13), (1, 2), (10, 3), (11, 12)))

Cables = tuple[NDArray[np.int64], NDArray[np.int64]]


def build_theta(*, io_routers_per_group: int = 0) -> Fabric:
    """Build ALCF Theta: 9 groups of 6 x 16 Aries routers, 3,456 nodes; router pairs and blue tiles as in its cable list."""
    return build_dragonfly(
        9, blue_routers=24, cabinets_per_row=12, name="theta", io_routers_per_group=io_routers_per_group
    )


def edison_like(*, io_routers_per_group: int = 0) -> Fabric:
    """Build NERSC Edison: 15 groups numbered 0-11 and 13-15, 1,440 routers, black cables x3, blue x2."""
    ids = [*range(12), 13, 14, 15]
    return build_dragonfly(
        15, group_ids=ids, cabinets_per_row=8, name="edison-like", io_routers_per_group=io_routers_per_group
    )


def cori_like(*, io_routers_per_group: int = 0) -> Fabric:
    """Build a machine of Cori's size: 34 groups, 3,264 Aries routers, 13,056 nodes; blue wiring by Edison's rule."""
    return build_dragonfly(34, cabinets_per_row=12, name="cori-like", io_routers_per_group=io_routers_per_group)


def slingshot_like(groups: int = 8, switches: int = 16, *, endpoints_per_switch: int = 16) -> Fabric:
    """Build a Slingshot dragonfly: each group's 64-port switches all-to-all, 200 Gb/s, global ports shared evenly among the peers."""
    global_ports = 64 - endpoints_per_switch - (switches - 1)
    blue = min(switches * max(global_ports, 0) // max(groups - 1, 1), switches)
    if groups > 1 and blue < 1:
        raise BadRequest(
            f"{groups} groups of {switches} switches with {endpoints_per_switch} endpoints leave too few global ports",
            advice="Use fewer groups or endpoints, or more switches.",
        )
    return build_dragonfly(
        groups,
        rows=1,
        cols=switches,
        endpoints_per_router=endpoints_per_switch,
        green_cables=1,
        blue_routers=max(blue, 1),
        blue_cables=1,
        bandwidth_bps=(200e9, 200e9, 200e9, 200e9),
        technology=Technology.SLINGSHOT,
        name="slingshot-like",
    )


def build_dragonfly(
    groups: int,
    rows: int = cray.ROWS,
    cols: int = cray.COLS,
    *,
    endpoints_per_router: int = cray.NODES_PER_ROUTER,
    green_cables: int = 1,
    black_cables: int = 3,
    blue_routers: int = 12,
    blue_cables: int = 2,
    bandwidth_bps: Sequence[float] = (cray.LOCAL_BPS, cray.LOCAL_BPS, cray.BLUE_BPS, cray.TERMINAL_BPS),
    group_ids: Sequence[int] | None = None,
    cabinets_per_row: int = 12,
    technology: Technology = Technology.CRAY_XC,
    io_routers_per_group: int = 0,
    name: str = "dragonfly",
) -> Fabric:
    """Build a dragonfly with one link per cable and direction.

    Parameters
    ----------
    groups, rows, cols : int
        Routers: groups x rows x cols, numbered in that order.
    endpoints_per_router : int
        At most 4 on Cray XC.
    green_cables, black_cables : int
        Cables between two routers of a row, and of a column.
    blue_routers, blue_cables : int
        Router pairs that join two groups, and cables per pair.
    bandwidth_bps : sequence of 4 floats
        Bandwidths of one cable: green, black, blue, terminal.
    group_ids : sequence of int, optional
        Ascending group numbers, if they are not 0, 1, 2, ...
    io_routers_per_group : int
        Routers with endpoints of role `io`, spread evenly over a group.

    Raises
    ------
    BadRequest
        If the sizes are impossible (a Cray router has 30 local and 10 blue tiles).
    """
    ids = list(range(groups)) if group_ids is None else list(group_ids)
    _check_sizes(groups, rows, cols, endpoints_per_router, ids, io_routers_per_group, blue_routers)
    is_cray = technology is Technology.CRAY_XC
    if is_cray:
        _check_cray(groups, rows, cols, endpoints_per_router, green_cables, black_cables, blue_routers, blue_cables)
    size = rows * cols
    place = np.indices((groups, rows, cols)).reshape(3, -1)
    group_id = np.asarray(ids)[place[0]]

    green = _all_to_all(groups, rows, cols, along_row=True, cables=green_cables)
    black = _all_to_all(groups, rows, cols, along_row=False, cables=black_cables)
    blue, layer, lane = _cable_blue(groups, rows, cols, blue_routers, blue_cables)
    endpoint_router = np.repeat(np.arange(groups * size), endpoints_per_router)
    endpoint = groups * size + np.arange(endpoint_router.size)

    ports_used = np.full(groups * size, endpoints_per_router)
    blue_ports = _cray_blue_ports(blue, layer, lane, cols) if is_cray else None
    green_ports, black_ports = _number_ports(green, ports_used, is_cray), _number_ports(black, ports_used, is_cray)
    if blue_ports is None:
        blue_ports = _number_ports(blue, ports_used, False)
    slot = np.arange(endpoint_router.size) % endpoints_per_router
    port = cray.NETWORK_TILES + 2 * slot if is_cray else slot

    kinds = np.repeat(np.arange(4), [green[0].size, black[0].size, blue[0].size, endpoint.size])
    links = both_directions(
        np.concatenate([green[0], black[0], blue[0], endpoint_router]),
        np.concatenate([green[1], black[1], blue[1], endpoint]),
        np.concatenate([green_ports[0], black_ports[0], blue_ports[0], port]),
        np.concatenate([green_ports[1], black_ports[1], blue_ports[1], np.zeros_like(port)]),
        kinds,
        kinds,
        np.asarray(bandwidth_bps, float)[kinds],
        CLASSES,
    )
    io = _spread_evenly(size, io_routers_per_group)
    role = np.where(np.isin(endpoint_router % size, io), ROLES.index(NodeRole.IO), ROLES.index(NodeRole.COMPUTE))
    if is_cray:
        names = [cray.router_cname(g, r, c, cabinets_per_row) for g, r, c in zip(group_id, *place[1:], strict=True)]
        router_number = (group_id * cray.ROWS + place[1]) * cray.COLS + place[2]
        nid = router_number[endpoint_router] * cray.NODES_PER_ROUTER + slot
    else:
        names = [f"x{g}r{r}s{c}" for g, r, c in zip(group_id, *place[1:], strict=True)]
        nid = np.arange(endpoint_router.size)
    return Fabric(
        name=name,
        kind=FabricKind.DRAGONFLY,
        technology=technology,
        routers=Routers(
            name=names, group=group_id, row=place[1], col=place[2], coords=np.array([group_id, *place[1:]]).T
        ),
        endpoints=Endpoints(
            router=endpoint_router, port=port, node=[cray.node_name(int(n)) for n in nid], nid=nid, role=role
        ),
        links=links,
        simulated=True,
        counted_at=CountedAt.RECEIVER if is_cray else CountedAt.SENDER,
        source=f"dragonfly({groups}, {rows}, {cols}, endpoints_per_router={endpoints_per_router})",
        attributes={
            "rows": rows,
            "cols": cols,
            "endpoints_per_router": endpoints_per_router,
            "green_cables": green_cables,
            "black_cables": black_cables,
            "blue_routers": blue_routers,
            "blue_cables": blue_cables,
            "io_routers": [int(i) for i in io],
            **({"cabinets_per_row": cabinets_per_row} if is_cray else {}),
        },
    )


def _check_sizes(groups: int, rows: int, cols: int, endpoints: int, ids: list[int], io: int, blue_routers: int) -> None:
    if min(groups, rows, cols, endpoints) < 1:
        raise BadRequest(
            f"a dragonfly of {groups} groups, {rows} x {cols} routers, {endpoints} endpoints has no router"
        )
    if len(ids) != groups or ids != sorted(set(ids)) or ids[0] < 0:
        raise BadRequest(f"group_ids must be {groups} ascending numbers", advice="Leave it out for 0, 1, 2, ...")
    if not 0 <= io <= rows * cols:
        raise BadRequest(f"io_routers_per_group is {io}", advice=f"Expected 0 to {rows * cols}.")
    if groups > 1 and blue_routers < 1:
        raise BadRequest("blue_routers is below 1, so the groups would not be joined")


def _check_cray(
    groups: int, rows: int, cols: int, endpoints: int, green: int, black: int, blue_routers: int, blue_cables: int
) -> None:
    local = (cols - 1) * green + (rows - 1) * black
    layers = -(-(groups - 1) * blue_routers // (rows * cols))
    if rows > cray.ROWS or cols > cray.COLS or endpoints > cray.NODES_PER_ROUTER:
        raise BadRequest("a Cray XC group has at most 6 x 16 routers of 4 nodes", advice="Choose another technology.")
    if local > len(cray.LOCAL_TILES):
        raise BadRequest(f"{local} local cables per router exceed its {len(cray.LOCAL_TILES)} local tiles")
    if blue_cables > 2:
        raise BadRequest(f"{blue_cables} cables exceed the two blue tiles of a router pair", advice="Give 1 or 2.")
    if layers > len(_BLUE_PAIRS[0]):
        raise BadRequest(
            f"{groups} groups joined by {blue_routers} router pairs each need {layers} pairs of blue tiles per router, which has {len(_BLUE_PAIRS[0])}",
            advice=f"Join two groups by at most {most_blue_routers(groups, rows * cols)} router pairs.",
        )


def most_blue_routers(groups: int, routers_per_group: int = cray.ROWS * cray.COLS) -> int:
    """Return the number of router pairs that can join two groups of a Cray XC with its blue tiles."""
    return len(_BLUE_PAIRS[0]) * routers_per_group // max(groups - 1, 1)


def _all_to_all(groups: int, rows: int, cols: int, *, along_row: bool, cables: int) -> Cables:
    """Return cables between all routers of a row (or column) of every group."""
    grid = np.arange(groups * rows * cols).reshape(groups, rows, cols)
    lines = grid.reshape(-1, cols) if along_row else grid.transpose(0, 2, 1).reshape(-1, rows)
    pairs = np.array(list(combinations(range(lines.shape[1]), 2)), int).reshape(-1, 2)
    return np.repeat(lines[:, pairs[:, 0]].ravel(), cables), np.repeat(lines[:, pairs[:, 1]].ravel(), cables)


def _cable_blue(
    groups: int, rows: int, cols: int, blue_routers: int, blue_cables: int
) -> tuple[Cables, tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]:
    """Return blue cables, the layer at each end, and the cable's number within its router pair."""
    size = rows * cols
    pairs = np.array(list(combinations(range(groups), 2)), int).reshape(-1, 2)
    low, high = pairs[:, 0], pairs[:, 1]
    step = np.arange(blue_routers)
    # In low's list of peers, high is at index high - 1 (low itself is omitted); in high's list, low is at index low.
    at_low = (high - 1)[:, None] * blue_routers + step
    at_high = low[:, None] * blue_routers + step

    def router(group: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.int64]:
        within = position % size
        return group[:, None] * size + (within % rows) * cols + within // rows

    def each(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.repeat(values.ravel(), blue_cables)

    cables = each(router(low, at_low)), each(router(high, at_high))
    layers = each(at_low // size), each(at_high // size)
    return cables, layers, np.tile(np.arange(blue_cables), at_low.size)


def _cray_blue_ports(
    cables: Cables, layers: tuple[NDArray[np.int64], NDArray[np.int64]], lane: NDArray[np.int64], cols: int
) -> Cables:
    table = np.array(_BLUE_PAIRS)
    a, b = (table[(end % cols) // 8, layer, lane] for end, layer in zip(cables, layers, strict=True))
    return a, b


def _number_ports(cables: Cables, taken: NDArray[np.int64], is_cray: bool) -> Cables:
    """Assign the next free port at both ends of each cable; `taken` counts the used ports and is updated."""
    ends = np.stack(cables, axis=1).ravel()
    order = np.argsort(ends, kind="stable")
    counts = np.bincount(ends, minlength=taken.size)
    rank = np.empty_like(order)
    rank[order] = np.arange(ends.size) - np.repeat(np.cumsum(counts) - counts, counts)
    port = rank + taken[ends]
    taken += counts
    if is_cray:
        # Non-optical tiles of rows 0-4; processor tiles are not counted.
        port = np.asarray(cray.LOCAL_TILES)[port - cray.NODES_PER_ROUTER]
    return port[0::2], port[1::2]


def _spread_evenly(size: int, count: int) -> NDArray[np.int64]:
    """Return `count` positions spread evenly over `size`."""
    return (np.arange(count) * size) // max(count, 1)
