"""Stalls in a window: routers, link classes, pairs of groups and single links."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.answers import build_model, finite_or_none, stall_ratio, utc_time
from flitwatch_api.counters import schemas
from flitwatch_api.counters.series import sum_across
from flitwatch_api.counters.store import PAIRS
from flitwatch_api.counters.windows import (
    MAX_PORT_ROWS,
    MAX_WHOLE_PORT_ROWS,
    SAMPLED_PORT_ROWS,
    Window,
    add_known,
    grid_at,
    sum_known,
    window_ending,
    window_sums,
)
from flitwatch_api.fabric.topology import COLUMN_CLASSES, Topology
from flitwatch_api.platform import Platform
from flitwatch_db.core.columns import Connection
from flitwatch_db.counters import reads
from flitwatch_db.fabrics.reads import Reach

DEFAULT_WINDOW_S = 60
#: Port counters are written this much later than router counters.
PORTS_BEGIN_S = 60
NO_REACH = Reach(None, None, {})
_CLASS_COLUMNS = [column for name in COLUMN_CLASSES for column in (f"{name}_flits", f"{name}_stall_cycles")]

Ports = tuple[NDArray[np.float64], NDArray[np.float64]]
#: Flits and stall cycles by router: float64[R] each.
Routers = tuple[NDArray[np.float64], NDArray[np.float64]]
Classes = dict[str, schemas.ClassFigures]


class AnsweredWindow(TypedDict):
    """Window that was used, as included in every response about a window. None if there is no time."""

    at: datetime | None
    window_s: int | None


#: Columns that identify a link between routers. `class` is a keyword, so this is not a class definition.
LinkColumns = TypedDict(
    "LinkColumns",
    {
        "link": NDArray[Any],
        "src": NDArray[Any],
        "dst": NDArray[Any],
        "src_port": list[int | None],
        "dst_port": list[int | None],
        "class": NDArray[Any],
    },
)


@dataclass(frozen=True)
class WindowQuery:
    """Window of one fabric, with the extent of its data.

    Attributes
    ----------
    window : Window or None
        None if there is no time.
    complete_s, ports_s : int or None
        End of complete rows of routers and of ports.
    reach : Reach
        Start of the stored rows.
    """

    topology: Topology
    window: Window | None
    complete_s: int | None = None
    ports_s: int | None = None
    reach: Reach = NO_REACH

    @property
    def closed_s(self) -> int:
        """Return the time up to which router buckets no longer change."""
        return self.complete_s or 0

    def head(self) -> AnsweredWindow:
        """Return `at` and `window_s` of the response."""
        window = self.window
        return {"at": utc_time(window.to_s) if window else None, "window_s": window.length_s if window else None}

    def ports_window(self) -> tuple[int, int]:
        """Return the part of the window with stored port counters, on their grid: rows that are not written yet or already deleted are excluded."""
        assert self.window is not None
        width = reads.PORT_BUCKET_S
        first = max(self.window.from_s // width * width, self.reach.oldest_of_ports_s or 0)
        last = -(-self.window.to_s // width) * width
        if self.ports_s is not None:
            last = min(last, self.ports_s // width * width)
        return first, max(first, last)

    def note(self, one_in: int) -> str | None:
        """Return a note if sums over ports are estimates or lack expired data."""
        notes = [] if one_in == 1 else [f"Estimated from one in {one_in} ten-second samples of this window."]
        first, oldest_s = self.reach.first_s, self.reach.oldest_of_ports_s
        begun = None if self.window is None or first is None else max(self.window.from_s, first)
        if begun is not None and oldest_s is not None and oldest_s > begun + PORTS_BEGIN_S:
            notes.append(
                f"Port counters are stored since {_day_and_time(oldest_s)}; earlier values are not in these sums."
            )
        return " ".join(notes) or None


def _day_and_time(epoch_s: float) -> str:
    return f"{utc_time(epoch_s):%-d %b %Y %H:%M} UTC"


async def resolve_window(
    platform: Platform,
    conn: Connection,
    topology: Topology,
    at_s: float | None,
    length_s: int,
    of_ports: bool = False,
) -> WindowQuery:
    """Return the requested window. It ends at `at_s`, or by default at the end of complete data (of ports if `of_ports`)."""
    if topology.head.snapshot:
        return WindowQuery(topology, None)
    reach = await platform.topologies.reach(conn, topology.head)
    complete_s = await platform.topologies.complete_s(conn, topology.head)
    ports_s = await platform.topologies.ports_complete_s(conn, topology.head)
    newest = ports_s if of_ports else complete_s
    end_s = at_s if at_s is not None else newest
    if end_s is None:
        return WindowQuery(topology, None)
    grid_s = grid_at(reach, topology.size, end_s - length_s, length_s)
    if of_ports:
        grid_s = max(grid_s, reads.PORT_BUCKET_S)
    return WindowQuery(topology, window_ending(end_s, length_s, grid_s), complete_s, ports_s, reach)


async def load_stalls(
    platform: Platform, conn: Connection, asked: WindowQuery, link_class: str | None
) -> schemas.StallFigures:
    """Return the response of `/stalls`."""
    topology = asked.topology
    topology.check_class(link_class)
    note: str | None = None
    if topology.head.snapshot:
        ports = await total_ports(conn, topology)
        by_router, classes = _from_ports(topology, ports, link_class)
        routers = _router_figures(*by_router, None)
        groups = _pair_figures(topology, pair_totals(topology, ports), None)
    elif asked.window is None:
        nothing = np.empty(0)
        routers, groups = _router_figures(nothing, nothing, nothing), _pair_figures(topology, None, None)
        classes = {name: class_figures(nothing, nothing, "router") for name in topology.classes}
    else:
        routers, classes, note = await _timed_stalls(platform, conn, asked, link_class)
        groups = await window_pairs(platform, conn, asked)
    return build_model(
        schemas.StallFigures,
        asked.head(),
        complete_through=utc_time(asked.complete_s),
        routers=routers,
        classes=classes,
        groups=groups,
        note=note,
        simulated=topology.head.simulated,
        snapshot=topology.head.snapshot,
    )


async def _timed_stalls(
    platform: Platform, conn: Connection, asked: WindowQuery, link_class: str | None
) -> tuple[schemas.RouterFigures, Classes, str | None]:
    topology, window, one_in = asked.topology, asked.window, 1
    assert window is not None
    names = ["rt_flits", "rt_stall_cycles", "tile_seconds", *(_CLASS_COLUMNS if topology.by_columns else [])]
    sums = await window_sums(platform.store, conn, topology, names, window, asked.reach, asked.closed_s)
    classes: Classes = {}
    flits, stalls = sums["rt_flits"], sums["rt_stall_cycles"]
    if topology.by_columns:
        for name in topology.classes:
            classes[name] = class_figures(sums[f"{name}_flits"], sums[f"{name}_stall_cycles"], "router")
        if link_class is not None:
            flits, stalls = sums[f"{link_class}_flits"], sums[f"{link_class}_stall_cycles"]
    else:
        ports, one_in = await window_ports(conn, topology, asked)
        by_class, classes = _from_ports(topology, ports, link_class)
        if link_class is not None:
            flits, stalls = by_class
    usual = await platform.topologies.usual_tiles(conn, topology)
    coverage = np.minimum(sums["tile_seconds"] / (usual * window.length_s), 1.0)
    return _router_figures(flits, stalls, coverage), classes, None if topology.by_columns else asked.note(one_in)


def _router_figures(
    flits: NDArray[np.float64], stalls: NDArray[np.float64], coverage: NDArray[np.float64] | None
) -> schemas.RouterFigures:
    known_routers = np.flatnonzero(~np.isnan(flits) | ~np.isnan(stalls) | (False if coverage is None else coverage > 0))
    return build_model(
        schemas.RouterFigures,
        router=known_routers,
        flits=flits[known_routers],
        stall_cycles=stalls[known_routers],
        ratio=stall_ratio(stalls[known_routers], flits[known_routers]),
        coverage=np.full(len(known_routers), np.nan)
        if coverage is None
        else coverage[known_routers].astype(np.float32),
    )


def class_figures(flits: NDArray[np.float64], stalls: NDArray[np.float64], per: str) -> schemas.ClassFigures:
    """Return the figures of one class over its links or routers."""
    both = ~np.isnan(flits) & ~np.isnan(stalls) & (flits > 0)
    ratios = stalls[both] / flits[both]
    p50, p95, most = np.percentile(ratios, (50, 95, 100)) if len(ratios) else (math.nan,) * 3
    total_flits, total_stalls = sum_known(flits), sum_known(stalls)
    return build_model(
        schemas.ClassFigures,
        flits=finite_or_none(total_flits),
        stall_cycles=finite_or_none(total_stalls),
        ratio=finite_or_none(total_stalls / total_flits) if total_flits > 0 else None,
        p50=finite_or_none(p50),
        p95=finite_or_none(p95),
        max=finite_or_none(most),
        per=per,
        counted=int(both.sum()),
    )


def _from_ports(topology: Topology, ports: Ports, link_class: str | None) -> tuple[Routers, Classes]:
    """Return routers (over the requested class) and classes, computed from sums by port."""
    classes = {}
    for name in topology.classes:
        here = topology.ports_of(name)
        classes[name] = class_figures(ports[0][here], ports[1][here], "link")
    use = topology.network_port if link_class is None else topology.ports_of(link_class)
    flits, stalls = (sum_across(np.where(use, values, np.nan)) for values in ports)
    return (flits, stalls), classes


async def total_ports(conn: Connection, topology: Topology) -> Ports:
    """Return flits and stall cycles by port of a snapshot: float64[R, P] each."""
    rows = await reads.port_totals(conn, topology.head.fabric_id)
    return _by_port(topology, rows["router"], rows["port"], rows["flits"], rows["stall_cycles"])


def _by_port(
    topology: Topology,
    router: NDArray[Any],
    port: NDArray[Any],
    flits: NDArray[np.float64],
    stalls: NDArray[np.float64],
) -> Ports:
    shape = topology.counted.shape
    inside = (router >= 0) & (router < shape[0]) & (port >= 0) & (port < shape[1])
    out = np.full(shape, np.nan), np.full(shape, np.nan)
    for values, table in zip((flits, stalls), out, strict=True):
        table[router[inside], port[inside]] = values[inside]
    return out


#: Successive multiples of it are spread evenly for any number of them, and do not coincide with an application's period (golden ratio).
_SPREAD = (math.sqrt(5) - 1) / 2


def sampled_buckets(window: Window, routers: int) -> tuple[NDArray[np.int64] | None, int]:
    """Choose the port buckets that represent a window: starts int64[n] and the sampling interval, or (None, 1) for all buckets.

    One bucket is taken from each section of the window, at a different position in each, so that neither the ends nor a period are preferred.
    """
    width = reads.PORT_BUCKET_S
    buckets = max(1, window.length_s // width)
    if buckets * routers <= MAX_WHOLE_PORT_ROWS:
        return None, 1
    one_in = math.ceil(buckets * routers / SAMPLED_PORT_ROWS)
    stretch = np.arange(math.ceil(buckets / one_in))
    place = np.minimum(stretch * one_in + (stretch * _SPREAD % 1 * one_in).astype(np.int64), buckets - 1)
    return window.from_s + place * width, one_in


async def window_ports(
    conn: Connection, topology: Topology, asked: WindowQuery, routers: list[int] | None = None
) -> tuple[Ports, int]:
    """Return the sums of a window by port: float64[R, P] each, NaN if not counted. With `routers`, return only theirs.

    A window of more than MAX_WHOLE_PORT_ROWS rows is estimated from every n-th bucket, where n is the second value (1: all).
    """
    window = asked.window
    assert window is not None
    from_s, to_s = asked.ports_window()
    count = topology.size if routers is None else len(routers)
    chosen, one_in = sampled_buckets(Window(from_s, to_s, window.grid_s), count)
    router, _, flits, stalls = await reads.port_rows(
        conn, topology.head.fabric_id, from_s, to_s, routers=routers, buckets=chosen
    )
    scale = 1.0 if chosen is None else (to_s - from_s) / reads.PORT_BUCKET_S / len(chosen)
    flits, stalls = flits * scale, stalls * scale
    out = np.full(topology.counted.shape, np.nan), np.full(topology.counted.shape, np.nan)
    width = min(np.shape(flits)[1], np.shape(out[0])[1])
    order = np.argsort(router, kind="stable")
    starts = np.flatnonzero(np.diff(router[order], prepend=-1))
    for values, table in zip((flits, stalls), out, strict=True):
        if not len(starts):
            break
        part = values[order][:, :width]
        known_mask = ~np.isnan(part)
        sums = np.add.reduceat(np.where(known_mask, part, 0.0), starts, axis=0)
        sums[~np.logical_or.reduceat(known_mask, starts, axis=0)] = np.nan
        at = router[order][starts]
        table[at[at < topology.size], :width] = sums[at < topology.size]
    return out, one_in


async def window_pairs(platform: Platform, conn: Connection, asked: WindowQuery) -> schemas.PairFigures:
    """Return the pairs of groups in a window, with a note if they are estimates."""
    sums, one_in = await pair_sums(platform, conn, asked)
    return _pair_figures(asked.topology, sums, asked.note(one_in), asked.ports_s)


async def pair_sums(platform: Platform, conn: Connection, asked: WindowQuery) -> tuple[NDArray[np.float64], int]:
    """Return flits and stall cycles between groups, float64[2, G, G], [sender][receiver], and the sampling interval of their buckets."""
    topology = asked.topology
    from_s, to_s = asked.ports_window()
    rows = topology.size * platform.store.missing(topology, (PAIRS,), from_s, to_s, reads.PORT_BUCKET_S)
    if rows > MAX_PORT_ROWS:
        ports, one_in = await window_ports(conn, topology, asked)
        return pair_totals(topology, ports), one_in
    groups = len(topology.fabric.groups)
    total = np.full((2, groups * groups), np.nan)
    for columns in (await platform.store.pairs(conn, topology, from_s, to_s, asked.ports_s or 0)).values():
        add_known(total, columns[PAIRS])
    return total.reshape(2, groups, groups), 1


def pair_totals(topology: Topology, ports: Ports) -> NDArray[np.float64]:
    """Return flits and stall cycles between groups from sums by port: float64[2, G, G]."""
    router, port, pair = topology.pair_places
    groups = len(topology.fabric.groups)
    out = np.full((2, groups * groups), np.nan)
    for kind, values in enumerate(ports):
        known_mask = ~np.isnan(values[router, port])
        sums = np.bincount(pair[known_mask], weights=values[router, port][known_mask], minlength=groups * groups)
        seen_mask = np.bincount(pair[known_mask], minlength=groups * groups) > 0
        out[kind] = np.where(seen_mask, sums, np.nan)
    return out.reshape(2, groups, groups)


def _pair_figures(
    topology: Topology, sums: NDArray[np.float64] | None, note: str | None, complete_s: int | None = None
) -> schemas.PairFigures:
    numbers = np.asarray(topology.fabric.groups, dtype=np.int64)
    if sums is None:
        src = dst = np.empty(0, dtype=np.int64)
        flits = stalls = np.empty(0)
    else:
        src, dst = np.nonzero(~np.isnan(sums[0]))
        flits, stalls = sums[0][src, dst], sums[1][src, dst]
    return build_model(
        schemas.PairFigures,
        src=numbers[src],
        dst=numbers[dst],
        flits=flits,
        stall_cycles=stalls,
        ratio=stall_ratio(stalls, flits),
        note=note,
        complete_through=utc_time(complete_s),
    )


async def link_figures(
    conn: Connection,
    asked: WindowQuery,
    router: int | None,
    group: int | None,
    link_class: str | None,
) -> schemas.LinkFigures:
    """Return the response of `/stalls/links`: counted links between routers."""
    topology = asked.topology
    topology.check_class(link_class)
    links = topology.fabric.links
    counted_router, counted_port = np.nonzero(topology.network_port)
    link = topology.counted[counted_router, counted_port]
    keep = np.ones(len(link), dtype=bool)
    if router is not None:
        topology.check_router(router)
        keep &= (links.src[link] == router) | (links.dst[link] == router)
    if group is not None:
        topology.in_group(group)
        keep &= (topology.group[links.src[link]] == group) | (topology.group[links.dst[link]] == group)
    if link_class is not None:
        keep &= topology.fabric.of_class(link_class)[link]
    one_in = 1
    counted_router, counted_port, link = counted_router[keep], counted_port[keep], link[keep]
    if topology.head.snapshot:
        ports = await total_ports(conn, topology)
    elif asked.window is None:
        ports = np.full(topology.counted.shape, np.nan), np.full(topology.counted.shape, np.nan)
    else:
        some = np.unique(counted_router)
        chosen_routers = some.tolist() if len(some) < topology.size // 2 else None
        ports, one_in = await window_ports(conn, topology, asked, chosen_routers)
    flits, stalls = ports[0][counted_router, counted_port], ports[1][counted_router, counted_port]
    known_links = np.flatnonzero(~np.isnan(flits) | ~np.isnan(stalls))
    order = known_links[np.argsort(link[known_links])]
    link, flits, stalls = link[order], flits[order], stalls[order]
    return build_model(
        schemas.LinkFigures,
        {**asked.head(), **link_columns(topology, link)},
        flits=flits,
        stall_cycles=stalls,
        ratio=stall_ratio(stalls, flits),
        note=asked.note(one_in),
    )


def link_columns(topology: Topology, link: NDArray[Any]) -> LinkColumns:
    """Return the columns that identify links between routers."""
    links = topology.fabric.links
    names = np.asarray([str(name) for name in links.classes], dtype=object)
    return {
        "link": link,
        "src": links.src[link],
        "dst": links.dst[link],
        "src_port": [None if p < 0 else p for p in links.src_port[link].tolist()],
        "dst_port": [None if p < 0 else p for p in links.dst_port[link].tolist()],
        "class": names[links.link_class[link]],
    }
