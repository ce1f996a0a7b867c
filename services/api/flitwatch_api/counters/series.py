"""Counters over time: series of routers, the machine's overview, frames for brushing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flitwatch_api.answers import build_model, stall_ratio, utc_texts
from flitwatch_api.counters import schemas
from flitwatch_api.counters.windows import (
    MAX_COUNTERS,
    MAX_ROWS,
    MAX_VALUES,
    Steps,
    Sums,
    check_limit,
    rows_of,
    step_for,
    step_sums,
    steps_of,
)
from flitwatch_api.fabric.topology import COLUMN_CLASSES, Topology
from flitwatch_api.names import Names
from flitwatch_api.parameters import at_moment
from flitwatch_api.platform import Platform
from flitwatch_db.core.columns import Connection
from flitwatch_db.counters import reads
from flitwatch_db.fabrics import reads as fabrics
from flitwatch_db.ingest import reads as ingest
from flitwatch_db.jobs import reads as jobs
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.errors import BadRequest

DEFAULT_SPAN_S = 900
#: Up to this many routers are read individually instead of with the whole machine.
FEW_ROUTERS = 64
FEW_ROUTERS_ROWS = MAX_ROWS // 4
MOST_GAPS, MOST_MARKS = 200, 100

RATIOS = {"ratio": ("rt_flits", "rt_stall_cycles")} | {
    f"{name}_ratio": (f"{name}_flits", f"{name}_stall_cycles") for name in COLUMN_CLASSES
}
COUNTERS = (*ROUTER_COLUMNS, "tile_seconds", *RATIOS, "coverage")


def read_counters(text: str) -> list[str]:
    """Parse comma-separated counter names. Raise BadRequest if a name is unknown. The advice lists the valid ones."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = next((name for name in names if name not in COUNTERS), None)
    if unknown is not None or not names:
        raise BadRequest(
            f"there is no counter {(unknown or '')[:60]!r}",
            advice=f"Counters: {', '.join(COUNTERS)}; several by commas.",
        )
    check_limit(len(names), MAX_COUNTERS, "MAX_COUNTERS", "counters", "Request fewer counters.")
    return names


def read_routers(topology: Topology, text: str) -> NDArray[np.int64]:
    """Parse routers given as `1,2`, `all` or `group:3`. Raise BadRequest if the text has another format. Raise NotFound if the router or group does
    not exist."""
    text = text.strip()
    if text == "all":
        return np.arange(topology.size)
    kind, _, rest = text.rpartition(":")
    numbers = [part.strip() for part in rest.split(",") if part.strip()]
    if (
        not numbers
        or kind not in ("", "group")
        or not all(n.isascii() and n.isdigit() and len(n) < 10 for n in numbers)
    ):
        raise BadRequest(
            f"routers={text[:60]!r} names no routers", advice="Write routers=1,2 or routers=all or routers=group:3."
        )
    if kind == "group":
        return np.unique(np.concatenate([topology.in_group(int(n)) for n in numbers]))
    chosen = list(dict.fromkeys(int(n) for n in numbers))
    for router in chosen:
        topology.check_router(router)
    return np.asarray(chosen, dtype=np.int64)


async def span_of(
    platform: Platform, conn: Connection, topology: Topology, from_s: float | None, to_s: float | None
) -> tuple[float, float] | None:
    """Return the requested span. By default it ends at the end of complete data. Return None if there are no data. Raise BadRequest if the span ends
    before it begins."""
    if to_s is None:
        end = await platform.topologies.complete_s(conn, topology.head)
        if end is None:
            return None
        to_s = float(end) if from_s is None else max(float(end), from_s + 1)
    if from_s is None:
        from_s = max(0.0, to_s - DEFAULT_SPAN_S)
    if to_s <= from_s:
        raise BadRequest("the period ends before it starts", advice="`to` must be later than `from`.")
    return from_s, to_s


@dataclass(frozen=True)
class SeriesQuery:
    """Requested series.

    Attributes
    ----------
    routers : int64[n]
    names : list of str
        Names from COUNTERS.
    span : (from, to) in epoch seconds, or None if there are no data
    total : bool
        Return one row, the sum over the routers.
    """

    routers: NDArray[np.int64]
    names: list[str]
    span: tuple[float, float] | None
    points: int
    total: bool = False


@dataclass(frozen=True)
class Series:
    """Counters over time.

    Attributes
    ----------
    ts : int64[T]
        Start of each step, epoch seconds.
    routers : int64[R]
        Routers of the values or of the sum.
    values : dict of names to arrays [T][R], or [T][1] if the routers are summed
        NaN is unknown.
    """

    ts: NDArray[np.int64]
    step_s: int
    routers: NDArray[np.int64]
    values: dict[str, NDArray[Any]]

    def content(self) -> schemas.Timeseries:
        """Return the JSON of `/timeseries`: one row per router."""
        rows = {name: np.ascontiguousarray(figures.T) for name, figures in self.values.items()}
        return build_model(
            schemas.Timeseries, ts=utc_texts(self.ts), step_s=self.step_s, routers=self.routers, values=rows
        )


async def load_series(platform: Platform, conn: Connection, topology: Topology, asked: SeriesQuery) -> Series:
    routers, names = asked.routers, asked.names
    rows = 1 if asked.total else len(routers)
    if asked.span is None or topology.head.snapshot:
        return Series(np.empty(0, np.int64), 1, routers, {name: np.empty((0, rows)) for name in names})
    reach = await platform.topologies.reach(conn, topology.head)
    length_s = asked.span[1] - asked.span[0]
    few = len(routers) <= FEW_ROUTERS and rows_of(3600, length_s, len(routers)) <= FEW_ROUTERS_ROWS
    size, most = (len(routers), FEW_ROUTERS_ROWS) if few else (topology.size, MAX_ROWS)
    steps = step_for(reach, size, *asked.span, asked.points, most_rows=most, whole=not few)
    step = steps.step_s
    ts = steps_of(*asked.span, step)
    check_limit(len(ts) * rows * len(names), MAX_VALUES, "MAX_VALUES", "values in the answer")
    columns = list(
        dict.fromkeys(c for n in names for c in RATIOS.get(n, ("tile_seconds",) if n == "coverage" else (n,)))
    )
    if few:
        sums = await _read_few_routers(conn, topology, routers, columns, ts, steps)
    else:
        closed = await platform.topologies.complete_s(conn, topology.head)
        sums = await step_sums(platform.store, conn, topology, columns, ts, steps, closed or 0)
        if len(routers) < topology.size:
            sums = {name: values[:, routers] for name, values in sums.items()}
    usual = await platform.topologies.usual_tiles(conn, topology) if "coverage" in names else np.empty(topology.size)
    expected = usual[routers] * step
    if asked.total:
        sums = _sum_routers(sums)
        expected = np.nansum(expected, keepdims=True)
    return Series(ts, step, routers, {name: _counter_values(name, sums, expected) for name in names})


def _sum_routers(sums: Sums) -> Sums:
    """Sum over the routers. A router that lacks flits or stalls of a class is left out of both sums."""
    totals = {}
    partner = {a: b for pair in RATIOS.values() for a, b in (pair, pair[::-1])}
    for name, values in sums.items():
        other = sums.get(partner.get(name, ""))
        totals[name] = sum_across(values if other is None else np.where(np.isnan(other), np.nan, values))[:, None]
    return totals


def _counter_values(name: str, sums: Sums, expected: NDArray[np.float64]) -> NDArray[Any]:
    """Return a counter computed from its columns: [step][router]."""
    if name in RATIOS:
        flits, stalls = RATIOS[name]
        return stall_ratio(sums[stalls], sums[flits])
    if name == "coverage":
        share = np.full(sums["tile_seconds"].shape, np.nan)
        np.divide(sums["tile_seconds"], expected, out=share, where=expected > 0)
        return np.asarray(np.minimum(share, 1.0), np.float32)
    return sums[name]


async def _read_few_routers(
    conn: Connection,
    topology: Topology,
    routers: NDArray[np.int64],
    columns: list[str],
    ts: NDArray[np.int64],
    steps: Steps,
) -> Sums:
    step, width = steps.step_s, steps.width_s
    rows = await reads.some_router_rows(
        conn,
        topology.head.fabric_id,
        routers.tolist(),
        columns,
        int(ts[0]),
        int(ts[-1]) + step,
        1 if width == 10 else width,
    )
    column_of = np.full(topology.size, -1, dtype=np.int64)
    column_of[routers] = np.arange(len(routers))
    place = (rows["ts"] - ts[0]) // step * len(routers) + column_of[rows["router"]]
    cells = len(ts) * len(routers)
    sums = {}
    for name in columns:
        known_mask = ~np.isnan(rows[name])
        total = np.bincount(place[known_mask], weights=rows[name][known_mask], minlength=cells)
        seen_mask = np.bincount(place[known_mask], minlength=cells) > 0
        sums[name] = np.where(seen_mask, total, np.nan).reshape(len(ts), len(routers))
    return sums


async def load_frames(
    platform: Platform,
    conn: Connection,
    topology: Topology,
    span: tuple[float, float] | None,
    least_step_s: int,
    link_class: str | None,
) -> tuple[NDArray[np.int64], int, NDArray[np.float64], NDArray[np.float64]]:
    """Return steps, their length, and flits and stall cycles float64[T, R]. The step is longer if a finer one would cost too much."""
    topology.check_class(link_class)
    if link_class is not None and link_class not in COLUMN_CLASSES:
        raise BadRequest(
            f"frames of class {link_class!r} are not stored",
            advice=f"Leave out class, or use one of {', '.join(COLUMN_CLASSES)}.",
        )
    if span is None or topology.head.snapshot:
        nothing = np.empty((0, topology.size))
        return np.empty(0, dtype=np.int64), least_step_s, nothing, nothing
    reach = await platform.topologies.reach(conn, topology.head)
    most = max(1, MAX_VALUES // 2 // max(1, topology.size))
    steps = step_for(reach, topology.size, *span, most, least_step_s)
    ts = steps_of(*span, steps.step_s)
    check_limit(len(ts) * topology.size * 2, 2 * MAX_VALUES, "MAX_VALUES", "values in the answer")
    flits, stalls = (
        ("rt_flits", "rt_stall_cycles") if link_class is None else (f"{link_class}_flits", f"{link_class}_stall_cycles")
    )
    closed = await platform.topologies.complete_s(conn, topology.head)
    sums = await step_sums(platform.store, conn, topology, [flits, stalls], ts, steps, closed or 0)
    return ts, steps.step_s, sums[flits], sums[stalls]


async def load_overview(
    platform: Platform, conn: Connection, seen: Names, topology: Topology, span: tuple[float, float] | None, points: int
) -> schemas.Overview:
    """Return the response of `/overview`."""
    if span is None or topology.head.snapshot:
        empty: list[Any] = []
        columns = ("flits", "stall_cycles", "ratio", "p50", "p95", "coverage", "gaps", "marks")
        return build_model(
            schemas.Overview,
            ts=empty,
            step_s=1,
            counted_share=0.0,
            cards_counted=False,
            **dict.fromkeys(columns, empty),
        )
    reach = await platform.topologies.reach(conn, topology.head)
    steps = step_for(reach, topology.size, *span, points, most_rows=_overview_rows(topology, span))
    step = steps.step_s
    ts = steps_of(*span, step)
    check_limit(len(ts) * topology.size, 2 * MAX_VALUES, "MAX_VALUES", "values to search")
    closed = await platform.topologies.complete_s(conn, topology.head)
    names = ["rt_flits", "rt_stall_cycles", "tile_seconds"]
    sums = await step_sums(platform.store, conn, topology, names, ts, steps, closed or 0)
    sampled = await platform.topologies.sampled(conn, topology)
    usual = np.where(sampled, await platform.topologies.usual_tiles(conn, topology), np.nan)
    flits, stalls = (sum_across(sums[name]) for name in names[:2])
    p50, p95 = _router_percentiles(stall_ratio(sums["rt_stall_cycles"], sums["rt_flits"]))
    expected = np.nansum(usual) * step
    past = ts < min(span[1], closed or 0)
    counted = sum_across(np.minimum(sums["tile_seconds"], usual * step))
    from_, to = at_moment(span[0]), at_moment(span[1])
    return build_model(
        schemas.Overview,
        ts=utc_texts(ts),
        step_s=step,
        flits=flits,
        stall_cycles=stalls,
        ratio=stall_ratio(stalls, flits),
        p50=p50,
        p95=p95,
        coverage=(counted / expected).astype(np.float32) if expected > 0 else np.full(len(ts), np.nan),
        counted_share=float(np.mean(~np.isnan(sums["tile_seconds"][past]).all(axis=1))) if past.any() else 0.0,
        cards_counted=await fabrics.cards_counted(conn, topology.head.fabric_id, *span),
        gaps=[
            build_model(schemas.Span, row)
            for row in await ingest.list_gap_spans(conn, topology.head.fabric_id, from_, to, MOST_GAPS)
        ],
        marks=await _list_marks(conn, topology, seen, from_, to),
    )


def _overview_rows(topology: Topology, span: tuple[float, float]) -> int:
    # The first view waits for this: use one-minute rows if ten-second steps would read every second of a large machine.
    return MAX_ROWS // 2 if rows_of(60, span[1] - span[0], topology.size) <= MAX_ROWS // 2 else MAX_ROWS


def sum_across(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over routers by step; NaN if all are unknown."""
    known_mask = ~np.isnan(values)
    return np.where(known_mask.any(axis=1), np.where(known_mask, values, 0.0).sum(axis=1), np.nan)


def _router_percentiles(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the 50th and 95th percentile over routers by step: float32[2, T]."""
    out = np.full((2, len(values)), np.nan, dtype=np.float32)
    some = ~np.isnan(values).all(axis=1)
    if some.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            # NaN sorts last, so a row's percentiles are positions among its known values.
            ordered = np.sort(values[some], axis=1)
        count = (~np.isnan(ordered)).sum(axis=1)
        for kind, share in enumerate((0.5, 0.95)):
            place = share * (count - 1)
            low = np.floor(place).astype(int)
            high = np.minimum(low + 1, count - 1)
            rows = np.arange(len(ordered))
            out[kind, some] = ordered[rows, low] + (ordered[rows, high] - ordered[rows, low]) * (place - low)
    return out


async def _list_marks(
    conn: Connection, topology: Topology, names: Names, from_: datetime, to: datetime
) -> list[schemas.Mark]:
    """Return the starts of the largest jobs and the changes of routes, in order of time."""
    marks: list[schemas.Mark] = []
    begun = (
        [] if names.hides_jobs else await jobs.list_started_jobs(conn, topology.head.fabric_id, from_, to, MOST_MARKS)
    )
    for row in map(names.job, begun):
        who = " ".join(
            part for part in (row["job_id"], row["name"], f"({row['user']})" if row["user"] else None) if part
        )
        size = f", {row['nodes']} nodes" if row["nodes"] is not None else ""
        marks.append(build_model(schemas.Mark, ts=row["start"], kind="job", text=f"Job {who} starts{size}"))
    for change in await fabrics.route_changes(conn, topology.head.fabric_id, from_, to, MOST_MARKS):
        marks.append(build_model(schemas.Mark, ts=change["ts"], kind="routes", text=_routes_text(**change)))
    return sorted(marks, key=lambda mark: mark.ts)


def _routes_text(ts: datetime, note: str | None, entries: int | None, changed: int | None) -> str:
    """Describe a change of routes at `ts` in one line."""
    if entries is None:
        return f"Routes: {note}"
    text = (
        f"Routes first recorded, {entries:,} entries"
        if changed is None
        else f"Routes changed, {changed:,} of {entries:,} entries"
    )
    return f"{text}: {note}" if note else text
