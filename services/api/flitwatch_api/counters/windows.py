"""Windows and steps: the tables that a span is read from, and its sums."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fastapi import Request
from fastapi.responses import Response
from numpy.typing import NDArray

from flitwatch_api.answers import CachedAnswer, cache_json, tagged_response
from flitwatch_api.counters.store import CounterStore
from flitwatch_api.fabric.topology import Topology
from flitwatch_api.platform import Platform
from flitwatch_api.shared_answers import OF_COUNTERS
from flitwatch_db.core.columns import Connection
from flitwatch_db.counters import reads
from flitwatch_db.fabrics.reads import Reach
from flitwatch_domain.errors import TooCostly

#: Table rows that one series can read.
MAX_ROWS = 1_000_000
#: Bytes of counters that one window can read: VALUE_BYTES per counter, and KEY_BYTES per row for its router and time. The longest window thus depends
#: on the machine's size and on the columns of its classes: 110 s of one-second rows for 32,640 routers with three classes.
MAX_BYTES = 320 << 20
VALUE_BYTES, KEY_BYTES = 8, 12
#: Buckets of a whole fabric times its routers: a year of one-day buckets of 8,160 routers.
MAX_CELLS = 3_000_000
#: Rows of port counters (each contains the arrays of all ports).
MAX_PORT_ROWS = 250_000
#: Port rows that are read completely. For longer windows only this many are read, and the sums are estimates.
MAX_WHOLE_PORT_ROWS = 60_000
SAMPLED_PORT_ROWS = 30_000
#: Numbers in one response.
MAX_VALUES = 2_000_000
MAX_POINTS = 2_000
#: Longest step that a request can ask for.
LONGEST_STEP_S = 30 * 86_400
MAX_COUNTERS = 20


def check_limit(cost: float, limit: int, name: str, what: str, advice: str = "") -> None:
    """Refuse a cost over a limit. Raise TooCostly."""
    if cost > limit:
        raise TooCostly(
            f"the request would take {int(cost):,} {what}; the limit {name} is {limit:,}",
            advice=advice or "Request a shorter period, fewer routers or fewer points.",
        )


#: Computes a response: its content, or the finished response.
Work = Callable[[Connection], Awaitable[Any]]
#: A response that is soon outdated is not worth a higher level.
LEVEL = 1


async def topology_of(platform: Platform, fabric: str) -> Topology:
    """Return a fabric's current topology, using a connection that is released afterwards. Raise NotFound.

    A caller that waits for shared work must not hold a connection, because the work needs one.
    """
    async with platform.reading() as conn:
        return await platform.topologies.get(conn, fabric)


async def serve_shared(
    platform: Platform,
    request: Request,
    topology: Topology,
    query: tuple[Hashable, ...],
    work: Work,
    kinds: frozenset[str] = OF_COUNTERS,
    vary: str | None = None,
) -> Response:
    """Return the response to a query about a fabric, with its entity tag.

    Parameters
    ----------
    query : tuple
        Everything that determines the response apart from the topology, including the caller's permissions.
    kinds : frozenset of str
        Events that change the response.
    vary : str, optional
        The request header that selects another form of the response.
    """

    async def make() -> CachedAnswer:
        async with platform.reading() as conn:
            content = await work(conn)
        return content if isinstance(content, CachedAnswer) else await asyncio.to_thread(cache_json, content, LEVEL)

    cached_answer = await platform.answers.get((*topology.key, *query), topology.head.fabric_id, kinds, make)
    return tagged_response(request, cached_answer, vary)


#: Steps of a series, in seconds.
STEPS = (
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    180,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    14_400,
    21_600,
    43_200,
    86_400,
    172_800,
    604_800,
)
#: Row widths of routers, coarsest first; ten seconds are summed from one-second rows.
ROUTER_WIDTHS = (3600, 60, 10, 1)
#: Row widths of a whole fabric, coarsest first.
FABRIC_WIDTHS = tuple(sorted(reads.FABRIC_WIDTHS, reverse=True))
#: Most one-second rows for a short window of a small machine.
FINE_ROWS = 20_000
#: Reading this many router rows is as fast as reading fabric rows.
FEW_ROWS = 200_000
NOT_YET = (
    "Some hours are not summed by day yet. Run `flitwatch db maintain`, try again later, or request a shorter period."
)
#: A longer window begins and ends at full hours, and is read from pairs of hours and days.
LONG_S = 7 * 86_400

Sums = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Window:
    """Window [from, to) in epoch seconds, both multiples of `grid_s`."""

    from_s: int
    to_s: int
    grid_s: int

    @property
    def length_s(self) -> int:
        return self.to_s - self.from_s


def grid_at(reach: Reach, routers: int, from_s: float, length_s: float) -> int:
    """Return the finest bucket width for a window's ends that is still stored and cheap enough."""
    width = next((width for width in (1, 60) if reach.kept(width, from_s)), 3600) if length_s <= LONG_S else 3600
    if width > 1:
        return width
    edges = min(length_s, 2 * 10)
    return 1 if edges * routers <= FINE_ROWS else 10


def window_ending(at_s: float, length_s: float, grid_s: int) -> Window:
    """Return the window of about that length on the grid that ends at or before a time."""
    to_s = math.floor(at_s / grid_s) * grid_s
    from_s = min(round((to_s - length_s) / grid_s) * grid_s, to_s - grid_s)
    return Window(max(0, from_s), max(grid_s, to_s), grid_s)


def split_window(window: Window, of_fabric: Sequence[int] = ()) -> list[tuple[int, int, int]]:
    """Split a window into (width, from, to), with the coarsest tables inside and finer ones at its edges. `of_fabric` contains widths above an hour,
    coarsest first."""
    return _split_span(window.from_s, window.to_s, [*of_fabric, *(w for w in ROUTER_WIDTHS if w >= window.grid_s)])


def _split_span(from_s: int, to_s: int, widths: Sequence[int]) -> list[tuple[int, int, int]]:
    if from_s >= to_s:
        return []
    width, finer = widths[0], widths[1:]
    first, last = -(-from_s // width) * width, to_s // width * width
    if not finer:
        return [(width, from_s, to_s)]
    if first >= last:
        return _split_span(from_s, to_s, finer)
    return [*_split_span(from_s, first, finer), (width, first, last), *_split_span(last, to_s, finer)]


def rows_of(width_s: int, length_s: float, routers: int) -> float:
    """Return the number of router rows to read for a span in buckets of that width."""
    return routers * length_s / (1 if width_s == 10 else width_s)


def table_width(step_s: int) -> int:
    """Return the coarsest router row width that divides the step."""
    return next(width for width in ROUTER_WIDTHS if step_s % width == 0)


@dataclass(frozen=True)
class Cost:
    """Cost of reading a span: router rows, and fabric buckets times routers."""

    rows: float = 0.0
    cells: float = 0.0

    def __add__(self, more: Cost) -> Cost:
        return Cost(self.rows + more.rows, self.cells + more.cells)

    def bytes(self, columns: int) -> float:
        """Return the bytes to read with this many counters per row and bucket."""
        return self.rows * (KEY_BYTES + VALUE_BYTES * columns) + self.cells * VALUE_BYTES * columns

    def within(self, most_rows: int = MAX_ROWS) -> bool:
        """Return whether the cost is within the limits of one request."""
        return self.rows <= most_rows and self.cells <= MAX_CELLS

    def check(self, most_rows: int = MAX_ROWS, advice: str = "") -> None:
        """Refuse a cost over the limits of one request. `advice` concerns rows. Raise TooCostly."""
        check_limit(self.rows, most_rows, "MAX_ROWS", "rows", advice)
        check_limit(self.cells, MAX_CELLS, "MAX_CELLS", "buckets of routers")


def cost_of(reach: Reach, routers: int, width_s: int, from_s: float, to_s: float) -> Cost:
    """Return the cost of a span in buckets of that width. Fabric buckets that are not rolled up yet are read from router rows."""
    if width_s not in FABRIC_WIDTHS:
        return Cost(rows=rows_of(width_s, to_s - from_s, routers))
    first, last = (bisect_left(reach.due_s, edge) for edge in (from_s // width_s * width_s - 3599, to_s))
    due_s = (
        width_s * len({hour // width_s for hour in reach.due_s[first:last]})
        if width_s > 3600
        else 3600 * (last - first)
    )
    return Cost(rows=rows_of(3600 if width_s > 3600 else 60, due_s, routers), cells=routers * (to_s - from_s) / width_s)


@dataclass(frozen=True)
class Steps:
    """Steps of a series: their length, and the width of the buckets that they are summed from, in seconds."""

    step_s: int
    width_s: int


def step_for(
    reach: Reach,
    routers: int,
    from_s: float,
    to_s: float,
    points: int,
    least_s: float = 1,
    most_rows: int = MAX_ROWS,
    whole: bool = True,
) -> Steps:
    """Return the smallest steps that give at most `points` for the span, from tables that are still stored and cheap enough.

    Parameters
    ----------
    whole : bool
        The routers are the whole fabric, so fabric rows can be used too.

    Raises
    ------
    TooCostly
        Even the coarsest table has too many rows.
    """
    span_s = to_s - from_s
    longest = max(STEPS[-1], math.ceil(max(span_s / points, least_s) / 86_400) * 86_400)
    for step in (*STEPS, longest):
        if step < least_s or span_s > points * step:
            continue
        rows_width = table_width(step)
        rows = cost_of(reach, routers, rows_width, from_s, to_s)
        by_rows = rows.within(most_rows) and (
            rows_width == 3600 or reach.kept(1 if rows_width == 10 else rows_width, from_s)
        )
        width = next((w for w in FABRIC_WIDTHS if step % w == 0 and reach.kept(w, from_s)), None) if whole else None
        of_fabric = width is not None and cost_of(reach, routers, width, from_s, to_s).within(most_rows)
        if by_rows and (rows.rows <= FEW_ROWS or not of_fabric):
            return Steps(step, rows_width)
        if width is not None and of_fabric:
            return Steps(step, width)
    coarsest = FABRIC_WIDTHS[0] if whole and reach.kept(FABRIC_WIDTHS[0], from_s) else 3600
    cost_of(reach, routers, coarsest, from_s, to_s).check(most_rows, NOT_YET if coarsest > 3600 and reach.due_s else "")
    return Steps(longest, coarsest)


def steps_of(from_s: float, to_s: float, step_s: int) -> NDArray[np.int64]:
    """Return the starts of the steps that overlap [from, to)."""
    first = math.floor(from_s / step_s) * step_s
    return np.arange(first, max(math.ceil(to_s / step_s) * step_s, first + step_s), step_s, dtype=np.int64)


async def window_sums(
    store: CounterStore,
    conn: Connection,
    topology: Topology,
    names: Sequence[str],
    window: Window,
    reach: Reach,
    closed_s: int,
) -> Sums:
    """Return the sums of a window by router: float64[R] per name, NaN if unknown."""
    long = window.grid_s >= 3600
    chunks = split_window(window, [w for w in FABRIC_WIDTHS if long and w > 3600 and reach.kept(w, window.from_s)])
    cost = sum((cost_of(reach, topology.size, *chunk) for chunk in chunks), Cost())
    check_limit(cost.bytes(len(names)), MAX_BYTES, "MAX_BYTES", "bytes of counters", "Request a shorter window.")
    sums = {name: np.full(topology.size, np.nan) for name in names}
    for width, start, end in chunks:
        blocks = await store.routers(conn, topology, names, start, end, width, closed_s)
        for columns in blocks.values():
            for name in names:
                add_known(sums[name], columns[name])
    return sums


async def step_sums(
    store: CounterStore,
    conn: Connection,
    topology: Topology,
    names: Sequence[str],
    ts: NDArray[np.int64],
    steps: Steps,
    closed_s: int,
) -> Sums:
    """Return the sums of steps by router: float64[T, R] per name, NaN if unknown."""
    start, end = int(ts[0]), int(ts[-1]) + steps.step_s
    blocks = await store.routers(conn, topology, names, start, end, steps.width_s, closed_s)
    sums = {name: np.full((len(ts), topology.size), np.nan) for name in names}
    for at, columns in blocks.items():
        row = (at - start) // steps.step_s
        for name in names:
            add_known(sums[name][row], columns[name])
    return sums


def add_known(total: NDArray[np.float64], more: NDArray[np.float64] | None) -> None:
    """Add in place. Unknown plus known is known."""
    if more is None:
        return
    known_mask = ~np.isnan(more)
    fresh = known_mask & np.isnan(total)
    total[fresh] = 0.0
    np.add(total, more, out=total, where=known_mask)


def sum_known(values: Iterable[float] | NDArray[np.float64]) -> float:
    """Return the sum of the known values; NaN if there are none."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.nansum(array)) if not np.all(np.isnan(array)) else math.nan
