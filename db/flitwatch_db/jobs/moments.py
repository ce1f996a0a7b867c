"""Load what was counted in moments of a machine: waits on the links of a path, and the traffic of all jobs' network cards."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Composable, Identifier

from flitwatch_db.core import packing
from flitwatch_db.core.columns import packed_rates
from flitwatch_db.core.connection import database_key
from flitwatch_db.diagnosis import measured
from flitwatch_db.jobs.counted_routes import Columns, CountedRoutes, Way
from flitwatch_domain.attribution import LinksOfMoment, Moment, that_move_most
from flitwatch_domain.counters import COUNT_BYTES
from flitwatch_domain.kept import Kept
from flitwatch_domain.link_shares import JobTraffic
from flitwatch_domain.link_waits import PortCounts, WaitingTurns, link_waits

Conn = psycopg.Connection[Any]
Row = dict[str, Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Moments of this width are summed from rows per second.
BY_SECOND_S = 10
#: Moments up to this width are summed from ports if routers' sums are not stored by link class.
LONGEST_BY_PORT_S = 60
#: Maximum number of cached moments, up to 0.5 MB each on 3,264 routers: running jobs are queried repeatedly, and slow ones wait in the same minutes.
_MOST_MOMENTS = 32
#: Columns of a network card for an attribution.
_OF_CARD = ("tx_bytes", "rx_bytes", "tx_wait_cycles")
#: Flits and stall cycles of all places in a moment, (places,) each, NaN if not counted; and `Moment.by_link`.
_Counts = tuple[Floats, Floats, LinksOfMoment | None]
#: Bytes that jobs put on the links of a way's turns, (links, jobs), by the moment's begin and end, the number of counts and the jobs' numbers.
MomentLoads = dict[tuple[float, ...], Floats]


@dataclass(frozen=True)
class LinkWaits:
    """Utilisation of all links in a moment, and flits' waits for them: (links,) each."""

    use: Floats
    waits: Floats


def load_moments(
    conn: Conn,
    way: CountedRoutes,
    fabric_id: int,
    of_job: Way,
    width: int,
    moments_s: list[float],
    jobs: list[Row],
    now_s: float,
    known_loads: MomentLoads,
    calm: LinkWaits | None = None,
) -> tuple[list[Moment], LinkWaits | None]:
    """Load what was counted in some moments, and how long flits waited for each link in the quiet one: `calm`, or the first.

    `known_loads` has the traffic of moments that were loaded before for the same way.
    """
    spans = [(at, min(at + width, now_s)) for at in moments_s]
    # Waits of network cards are those of the links to the switches of a tree.
    cards = _cards_at(conn, fabric_id, width, moments_s, _OF_CARD[:2] if way.turns is None else _OF_CARD)
    traffic = [_compute_traffic(jobs, card, *span) for span, card in zip(spans, cards, strict=True)]
    if way.turns is None:
        counted = _classes_at(conn, way, fabric_id, width, moments_s)
    else:
        port_counts = _ports_at(conn, way, fabric_id, spans) if width <= LONGEST_BY_PORT_S else None
        port_counts = port_counts or _switches_at(conn, way, fabric_id, width, moments_s)
        for (low, high), ports, card in zip(spans, port_counts, cards, strict=True):
            way.add_cards(ports, card * (high - low))
        mine = way.places.links[of_job.load[way.places.links] > 0]
        turns = WaitingTurns.to(mine, way.turns, port_counts[0])
        counted = []
        for (low, high), ports, moved in zip(spans, port_counts, traffic, strict=True):
            job_places = that_move_most(moved)
            key = (low, high, len(ports.waited), *(jobs[place]["job_pk"] for place in job_places))
            if key not in known_loads:
                of_jobs = [job_traffic for job_traffic in map(moved.__getitem__, job_places) if job_traffic is not None]
                known_loads[key] = way.routes.loads(of_jobs, turns.links, 0.0)
            of_links, waits = _links_at(way, of_job, turns, ports, high - low, job_places, known_loads[key], calm)
            calm = calm or waits
            counted.append(of_links)
    return [
        Moment(high - low, flits, stalls, moved, by_link)
        for (low, high), (flits, stalls, by_link), moved in zip(spans, counted, traffic, strict=True)
    ], calm


def _compute_traffic(jobs: Sequence[Row], cards: Floats, low_s: float, high_s: float) -> list[JobTraffic | None]:
    """Compute each job's traffic in a moment from the rates of all NICs (3, endpoints); None if the job did not run then."""
    ends = np.concatenate([np.asarray(job["endpoint"], np.int64) for job in jobs])
    rates = np.full((2, len(ends)), np.nan)
    is_known = ends < cards.shape[1]
    rates[:, is_known] = cards[:2, ends[is_known]]
    traffic: list[JobTraffic | None] = []
    first = 0
    for job in jobs:
        end = job["endpoint"]
        sent, received = rates[:, first : first + len(end)]
        first += len(end)
        runs_s = min(high_s, math.inf if job["end_s"] is None else job["end_s"]) - max(low_s, job["start_s"])
        traffic.append(JobTraffic(job["router"], sent * runs_s, received * runs_s, end) if runs_s > 0 else None)
    return traffic


def _classes_at(conn: Conn, way: CountedRoutes, fabric_id: int, width: int, moments_s: list[float]) -> list[_Counts]:
    """Return the counts of each class of links at a router in some moments."""
    routers = len(way.fabric.routers)

    def read(moments_s: list[float]) -> list[_Counts]:
        at, router, flits, stalls = read_counts(conn, way.columns, fabric_id, width, None, None, moments_s)
        class_counts: list[_Counts] = []
        for moment in moments_s:
            of = (router < routers) & (at == moment)
            sums = np.full((2, routers, len(way.columns)), np.nan)
            sums[0, router[of]], sums[1, router[of]] = flits[of], stalls[of]
            sums.flags.writeable = False
            class_counts.append((sums[0].ravel(), sums[1].ravel(), None))
        return class_counts

    return _read_changed(conn, fabric_id, "router", width, moments_s, (way.columns, routers), read)


def _ports_at(
    conn: Conn, way: CountedRoutes, fabric_id: int, spans: Sequence[tuple[float, float]]
) -> list[PortCounts] | None:
    """Load the counts of switches' sending ports in some spans; None if one span has no port counts, or they have expired."""
    port_counts = []
    for span in spans:
        flits, stalls, _, _ = measured.port_sums(conn, fabric_id, way.fabric, *span)
        if np.isnan(flits[way.between]).all():
            return None
        port_counts.append(PortCounts(flits.copy(), np.arange(len(flits)), stalls.copy()))
    return port_counts


def _switches_at(
    conn: Conn, way: CountedRoutes, fabric_id: int, width: int, moments_s: list[float]
) -> list[PortCounts]:
    """Load the same as sums of each switch's ports."""
    at, router, _, stalls = read_counts(conn, way.columns, fabric_id, width, None, None, moments_s)
    routers, links = len(way.fabric.routers), way.fabric.links
    port_counts = []
    for moment in moments_s:
        of = (at == moment) & (router < routers)
        # After the switches come the links of network cards, each with a separate count.
        waited = np.full(routers + len(links), np.nan)
        waited[router[of]] = stalls[of, 0]
        count = np.where(links.src < routers, links.src, routers + np.arange(len(links)))
        port_counts.append(PortCounts(np.full(len(links), np.nan), count.astype(np.int64), waited))
    return port_counts


def _links_at(
    way: CountedRoutes,
    of_job: Way,
    turns: WaitingTurns,
    ports: PortCounts,
    seconds: float,
    job_places: Sequence[int],
    moved: Floats,
    calm: LinkWaits | None,
) -> tuple[_Counts, LinkWaits]:
    """Counts of every place in a moment of this many seconds, as `link_waits` finds them; `moved` (links of the turns, jobs) is what jobs put there.

    A link to a node causes no longer waits than in the `calm` moment if it has no more traffic, because no other link behind it is full.
    """
    word = COUNT_BYTES[way.fabric.technology]
    loads, whole = np.zeros((way.routes.links, len(job_places))), np.zeros(way.routes.links)
    loads[turns.links] = moved
    whole[turns.links] = loads[turns.links].sum(axis=1)
    carried = np.where(np.isfinite(ports.carried), ports.carried, whole / word)
    use = carried * word / seconds / way.capacity
    most = None
    if calm is not None:
        to_node = way.fabric.links.dst >= len(way.fabric.routers)
        most = np.where(to_node & (use <= calm.use) & np.isfinite(calm.waits), calm.waits, np.inf)
    waits = link_waits(turns, loads, ports, use, most)
    heat = of_job.load * waits
    links, count = way.places.links, way.places.count
    there = np.isfinite(heat[links]) & (of_job.load[links] > 0)
    of = way.places.place[there]
    flits, waiting, load = (np.bincount(of, side[links[there]], count) for side in (carried, heat, of_job.load))
    ratio = np.divide(waiting, load, out=np.full(count, np.nan), where=load > 0)
    by_link = LinksOfMoment(loads, np.array(job_places, np.int64), np.nan_to_num(heat), whole)
    return (np.where(load > 0, flits, np.nan), ratio * flits, by_link), LinkWaits(use, waits)


Read = TypeVar("Read")

_moments = Kept[Any](_MOST_MOMENTS)


def _read_changed(
    conn: Conn,
    fabric_id: int,
    of: str,
    width: int,
    moments_s: list[float],
    what: Hashable,
    read: Callable[[list[float]], list[Read]],
) -> list[Read]:
    """Return what `read` returns for some moments, but call it only for those whose minutes or hours have other samples than when they were read last."""
    if width <= BY_SECOND_S:
        return read(moments_s)
    query = SQL(
        "SELECT date_part('epoch', ts), count(*), sum(samples) FROM {} WHERE fabric_id = %(fabric)s AND {} GROUP BY ts"
    )
    rows = conn.execute(
        query.format(_select_source(of, width)[1], _AT_MOMENTS), {"fabric": fabric_id, "at": moments_s}
    ).fetchall()
    head, samples = (*database_key(conn), fabric_id, of, width, what), {at: counts for at, *counts in rows}
    kept: dict[float, Any] = {at: _moments.find((head, at), samples.get(at)) for at in moments_s}
    changed = [at for at, value in kept.items() if value is None]
    for at, value in zip(changed, read(changed) if changed else (), strict=True):
        kept[at] = _moments.keep((head, at), value, samples.get(at))
    return [kept[at] for at in moments_s]


def _cards_at(conn: Conn, fabric_id: int, width: int, moments_s: list[float], columns: Sequence[str]) -> list[Floats]:
    """Read columns of each network card, per second, in some moments: (columns, endpoints) each, NaN if not counted."""

    def read(moments_s: list[float]) -> list[list[NDArray[np.generic]]]:
        begin, table = _select_source("endpoint", width)
        names = [*map(Identifier, columns), Identifier("seconds")]
        if width > BY_SECOND_S:
            # A row of these tables covers a moment, and adding rows up would take longer than reading them.
            rows = SQL("SELECT {} AS at, endpoint, {} FROM {} WHERE fabric_id = %(fabric)s AND {}").format(
                begin, SQL(", ").join(names), table, _AT_MOMENTS
            )
        else:
            sums = SQL(", ").join(SQL("sum({0}) AS {0}").format(name) for name in names)
            rows = SQL(
                "SELECT {} AS at, endpoint, {} FROM {} WHERE fabric_id = %(fabric)s AND {} GROUP BY 1, 2"
            ).format(begin, sums, table, _IN_MOMENTS)
        query = SQL(
            "SELECT date_part('epoch', at), array_send(array_agg(endpoint)), {} FROM ({}) e GROUP BY at"
        ).format(packed_rates(columns), rows)
        with conn.cursor(binary=True) as cursor:
            packed = cursor.execute(query, {"fabric": fabric_id, "at": moments_s, "width": width}).fetchall()
        by_moment = {
            at: [packing.unpack_numbers(ends, ">i4"), *(packing.unpack_numbers(rate, ">f8") for rate in rates)]
            for at, ends, *rates in packed
        }
        return [by_moment.get(at, []) for at in moments_s]

    counted = _read_changed(conn, fabric_id, "endpoint", width, moments_s, tuple(columns), read)
    endpoints = max((int(card[0].max()) + 1 for card in counted if card), default=0)
    cards = [np.full((len(columns), endpoints), np.nan) for _ in moments_s]
    for card, moment in zip(counted, cards, strict=True):
        if card:
            moment[:, card[0]] = card[1:]
    return cards


#: Rows of some moments, for tables with rows of that width, and for tables per second; moments of the latter are within minutes of each other.
_AT_MOMENTS = SQL("ts = ANY(SELECT to_timestamp(unnest(%(at)s::float8[])))")

_IN_MOMENTS = SQL("""
    ts >= to_timestamp((SELECT min(a) FROM unnest(%(at)s::float8[]) a)) AND ts < to_timestamp((SELECT max(a) FROM unnest(%(at)s::float8[]) a) +
    %(width)s)
    AND floor(date_part('epoch', ts) / %(width)s) * %(width)s = ANY(%(at)s::float8[])
""")


def _select_source(of: str, width: int) -> tuple[Composable, Identifier]:
    """Return the start of a row's moment, and the table with rows of routers or endpoints of that width or finer."""
    # `extract` is exact, of type numeric, and takes ten times as long as `date_part`.
    by_second = SQL("to_timestamp(floor(date_part('epoch', ts) / {0}) * {0})").format(width)
    begin = SQL("ts") if width > BY_SECOND_S else by_second
    return begin, Identifier(f"{of}_{ {10: '1s', 60: '1m', 3600: '1h'}[width] }")


def read_counts(
    conn: Conn,
    columns: Columns,
    fabric_id: int,
    width: int,
    routers: Ints | None,
    span: tuple[float, float] | None,
    moments_s: list[float] | None = None,
) -> tuple[Floats, Ints, Floats, Floats]:
    """Read rows of some routers or of all, in a span or in some moments: moments (n,), routers (n,), flits and stall cycles (n, columns)."""
    flits, stalls = zip(*columns, strict=True)
    names = [Identifier(name) for name in (*flits, *stalls)]
    where = [
        SQL("fabric_id = %(fabric)s"),
        *([] if routers is None else [SQL("router = ANY(%(routers)s)")]),
        SQL("ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s)")
        if span is not None
        else _AT_MOMENTS
        if width > BY_SECOND_S
        else _IN_MOMENTS,
    ]
    begin, table = _select_source("router", width)
    by_second = width <= BY_SECOND_S
    query = SQL("""
        SELECT array_send(array_agg(date_part('epoch', at))), array_send(array_agg(router)), {}
        FROM (SELECT {} AS at, router, {} FROM {} WHERE {} {}) r
    """).format(
        SQL(", ").join(SQL("array_send(array_agg(coalesce({}, 'NaN')))").format(name) for name in names),
        begin,
        SQL(", ").join(SQL("sum({0}) AS {0}").format(name) if by_second else name for name in names),
        table,
        SQL(" AND ").join(where),
        SQL("GROUP BY 1, 2" if by_second else ""),
    )
    from_s, to_s = span or (None, None)
    parameters = {
        "fabric": fabric_id,
        "routers": None if routers is None else routers.tolist(),
        "from": from_s,
        "to": to_s,
        "at": moments_s,
        "width": width,
    }
    with conn.cursor(binary=True) as cursor:
        row = cursor.execute(query, parameters).fetchone()
    assert row is not None
    if row[0] is None:
        return np.empty(0), np.empty(0, np.int64), np.empty((0, len(flits))), np.empty((0, len(stalls)))
    kinds = (">f8", ">i4", *(">f8" for _ in names))
    at, router, *counts = (packing.unpack_numbers(packed, kind) for packed, kind in zip(row, kinds, strict=True))
    values = np.stack(counts, axis=1).astype(np.float64)
    return np.asarray(at, np.float64), router.astype(np.int64), values[:, : len(flits)], values[:, len(flits) :]
