"""Windows and steps: from which tables a span is put together, and its sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.counters.limits import MAX_ROWS, need
from flitwatch_api.counters.store import CounterStore
from flitwatch_api.fabric.topology import Topology
from flitwatch_db.core.columns import Connection
from flitwatch_db.fabrics.reads import Reach

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
#: Widths that are kept in memory, coarsest first; ten seconds are summed from the seconds.
WIDTHS = (3600, 60, 10, 1)
#: A short window of a small machine is taken by the second: so many rows at most.
FINE_ROWS = 20_000

Sums = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Window:
    """[from, to) in epoch seconds, both multiples of `grid_s`."""

    from_s: int
    to_s: int
    grid_s: int

    @property
    def length_s(self) -> int:
        return self.to_s - self.from_s


def grid_at(reach: Reach, routers: int, from_s: float, length_s: float) -> int:
    """The finest bucket that a window can begin and end on: what is still kept, and what is cheap enough."""
    width = next((width for width in (1, 60) if reach.kept(width, from_s)), 3600)
    if width > 1:
        return width
    edges = min(length_s, 2 * 10)
    return 1 if edges * routers <= FINE_ROWS else 10


def window_ending(at_s: float, length_s: float, grid_s: int) -> Window:
    """The window of about that length that ends at or before a moment, on the grid."""
    to_s = math.floor(at_s / grid_s) * grid_s
    from_s = min(round((to_s - length_s) / grid_s) * grid_s, to_s - grid_s)
    return Window(max(0, from_s), max(grid_s, to_s), grid_s)


def parts(window: Window) -> list[tuple[int, int, int]]:
    """A window as (width, from, to), the coarsest tables inside, finer ones at its edges."""
    return _parts(window.from_s, window.to_s, [w for w in WIDTHS if w >= window.grid_s])


def _parts(from_s: int, to_s: int, widths: Sequence[int]) -> list[tuple[int, int, int]]:
    if from_s >= to_s:
        return []
    width, finer = widths[0], widths[1:]
    first, last = -(-from_s // width) * width, to_s // width * width
    if not finer:
        return [(width, from_s, to_s)]
    if first >= last:
        return _parts(from_s, to_s, finer)
    return [*_parts(from_s, first, finer), (width, first, last), *_parts(last, to_s, finer)]


def rows_of(width_s: int, length_s: float, routers: int) -> float:
    """Rows that are read for a span in buckets of that width."""
    return routers * length_s / (1 if width_s == 10 else width_s)


def table_width(step_s: int) -> int:
    """The coarsest width that a step is made of."""
    return next(width for width in WIDTHS if step_s % width == 0)


def step_for(
    reach: Reach, routers: int, from_s: float, to_s: float, points: int, least_s: float = 1, most_rows: int = MAX_ROWS
) -> int:
    """The smallest step of which at most `points` fill the span, of a table that is still kept and cheap enough.

    Raises
    ------
    TooCostly
        Even the coarsest table has too many rows.
    """
    span_s = to_s - from_s
    for step in STEPS:
        width = table_width(step)
        if (
            step >= least_s
            and span_s <= points * step
            and (width == 3600 or reach.kept(1 if width == 10 else width, from_s))
            and rows_of(width, span_s, routers) <= most_rows
        ):
            return step
    need(rows_of(3600, span_s, routers), most_rows, "MAX_ROWS", "rows")
    return max(STEPS[-1], math.ceil(span_s / points / 86_400) * 86_400)


def steps_of(from_s: float, to_s: float, step_s: int) -> NDArray[np.int64]:
    """Starts of the steps that touch [from, to)."""
    first = math.floor(from_s / step_s) * step_s
    return np.arange(first, max(math.ceil(to_s / step_s) * step_s, first + step_s), step_s, dtype=np.int64)


async def window_sums(
    store: CounterStore, conn: Connection, topology: Topology, names: Sequence[str], window: Window, closed_s: int
) -> Sums:
    """Sums of a window by router: float64[R] a name, NaN where unknown."""
    chunks = parts(window)
    need(sum(rows_of(width, end - start, topology.size) for width, start, end in chunks), MAX_ROWS, "MAX_ROWS", "rows")
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
    step_s: int,
    closed_s: int,
) -> Sums:
    """Sums of steps by router: float64[T, R] a name, NaN where unknown."""
    width = table_width(step_s)
    start, end = int(ts[0]), int(ts[-1]) + step_s
    need(rows_of(width, end - start, topology.size), 2 * MAX_ROWS, "MAX_ROWS", "rows")
    blocks = await store.routers(conn, topology, names, start, end, width, closed_s)
    sums = {name: np.full((len(ts), topology.size), np.nan) for name in names}
    for at, columns in blocks.items():
        row = (at - start) // step_s
        for name in names:
            add_known(sums[name][row], columns[name])
    return sums


def add_known(total: NDArray[np.float64], more: NDArray[np.float64] | None) -> None:
    """Add in place: unknown plus known is known."""
    if more is None:
        return
    known = ~np.isnan(more)
    fresh = known & np.isnan(total)
    total[fresh] = 0.0
    np.add(total, more, out=total, where=known)


def nansum(values: Iterable[float] | NDArray[np.float64]) -> float:
    """The sum of what is known; NaN where nothing is."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.nansum(array)) if not np.all(np.isnan(array)) else math.nan
