"""Attribute a job's waiting to the jobs that cause it: choose a quiet moment and the worst ones of its slow stretch, and divide what flits wait."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from flitwatch_db.jobs.counted_routes import Columns, CountedRoutes, Way, counted_routes
from flitwatch_db.jobs.moments import BY_SECOND_S, LinkWaits, MomentLoads, load_moments, read_counts
from flitwatch_db.jobs.placed import list_placed_jobs
from flitwatch_domain.attribution import Moment, attribute_waiting, compute_user_parts
from flitwatch_domain.explanation.flow import Flow
from flitwatch_domain.fabric import Fabric

Conn = psycopg.Connection[Any]
Row = dict[str, Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Number of rows searched for a quiet moment, by their width in seconds. Minutes are tried first, unless only ten-second rows are short enough for the
#: time at usual speed. Ten-second rows are also used if minutes begin with the slow stretch, and hours if minutes have expired.
LOOKED_BACK = {60: 180, 10: 30, 3600: 72}
#: Seconds of a slow stretch that are searched by this width for a job with a short usual time.
LONGEST_BY_SECOND_S = 1800.0
#: Maximum number of moments of the slow stretch whose waiting is divided, by their width. The waiting varies more in ten seconds than in a minute.
MOST_SLOW_MOMENTS = {60: 3, 10: 9, 3600: 3}
#: Maximum number of routers searched for the quiet moment: those with most of the job's traffic.
MOST_WATCHED = 48
MOST_JOBS = 500
#: Maximum number of jobs whose traffic is reported.
MOST_REPORTED = 32
#: Numbers of rows before the onset that are searched first for a quiet moment.
LOOKED_AT_FIRST = (15, 60)
#: A moment is calm enough if the job would wait at most this part of the worst. Moments close to the calmest count: within this number of cycles per
#: flit, or this part of the difference to the worst.
CALM, QUIET_CYCLES, QUIET = 0.5, 0.005, 0.03
#: Part by which a moment of the job's usual speed may begin before the job.
NOT_YET = 0.1
#: A slow moment is at least so much in the slow stretch. If none is, those that are most in it count.
MOSTLY = 0.5
#: CPU time after which no other quiet moment is tried: on the largest trees each takes seconds.
MOST_CPU_S = 10.0
#: Maximum number of apparently quiet moments that are tried.
MOST_QUIET = 3
#: Minimum counted part of the job's path for a usable row.
LEAST_COUNTED = 0.5
NO_RECORD = "it has no record for that time, or its network cards are unknown"
NO_CARDS = "the network cards of the jobs have no counters during the slowdown"


def of_job(
    conn: Conn,
    job: Row,
    place: Row,
    low_s: float,
    end_s: float,
    now_s: float,
    usual_s: float | None = None,
    fabric: Fabric | None = None,
    alongside: Sequence[Row] = (),
) -> Flow:
    """Find the jobs for which a job waits in its slow stretch, from `low_s` to `end_s`, as known at `now_s`; epoch seconds.

    `usual_s` is the time since when it ran at its usual speed before that; None: it never did. `fabric` is the place's fabric, and
    `alongside` are jobs that ran with it (`list_placed_jobs`), if they are loaded.
    """
    low_s, end_s, now_s = float(low_s), float(end_s), float(now_s)
    way = counted_routes(conn, place["fabric_id"], low_s, end_s, fabric)
    if way.routes.reason is not None:
        return _make_unknown(way.routes.reason)
    if not len(way.places.links):
        return _make_unknown("its machine's counters are stored neither by link class nor by sending port")
    own = way.way(place["router"], place["endpoint"])
    if own.weight.sum() <= 0:
        return _make_unknown("all its nodes are on one router")
    span = _Span(low_s, end_s, now_s, usual_s, alongside)
    own_flow = _attribute_way(conn, way, job, place, own, span)
    if way.by_class or not way.serves or (own_flow.known and own_flow.carried):
        return own_flow
    # Traffic to its other nodes is certain. Waiting for the file system is known only for the machine as a whole.
    served = _attribute_way(
        conn, way, job, place, way.way(place["router"], place["endpoint"], to_file_system=True), span
    )
    if not served.known or not served.carried:
        return own_flow
    return replace(served, to_file_system=True, between=own_flow.part if own_flow.known and own_flow.rose else {})


@dataclass(frozen=True)
class _Span:
    """A slow stretch from `low_s` to `end_s`, as known at `now_s`; `usual_s` and `alongside` as in `of_job`."""

    low_s: float
    end_s: float
    now_s: float
    usual_s: float | None
    alongside: Sequence[Row]


def _attribute_way(conn: Conn, way: CountedRoutes, job: Row, place: Row, own: Way, span: _Span) -> Flow:
    """Find the jobs for which a job waits on one path of its traffic."""
    unsure, begun_s = None, time.thread_time()
    known_loads: MomentLoads = {}
    widths = list(LOOKED_BACK)
    short_usual = _has_usual_moment(span, BY_SECOND_S) and not _has_usual_moment(span, widths[0])
    for width in [BY_SECOND_S, *widths] if short_usual else widths:
        begin = math.floor(span.low_s / width) * width - LOOKED_BACK[width] * width
        end_s = min(span.end_s, span.low_s + LONGEST_BY_SECOND_S) if short_usual else span.end_s
        until = min(end_s + LOOKED_AT_FIRST[0] * width, span.now_s)
        at, waits = _read_waits(conn, way.columns, place["fabric_id"], own.of_routers, width, begin, until)
        for _ in range(MOST_QUIET):
            chosen = _choose_moments((at, waits), width, span.low_s, span.end_s, span.usual_s)
            if short_usual and (chosen is None or not chosen.usual):
                break
            unsure = unsure or chosen
            if chosen is None or not chosen.calm or time.thread_time() - begun_s > MOST_CPU_S:
                break
            flow = _divide_waits(conn, way, job, place["fabric_id"], own, chosen, span, known_loads)
            if chosen.usual or flow.calm(CALM):
                return flow
            # For a tree only the sums of its switches were searched, and its links show otherwise.
            at, waits = at[at != chosen.quiet_s], waits[at != chosen.quiet_s]
        # Its seconds may have expired.
        short_usual = False
    if unsure is None:
        return _make_unknown("its routers lack counters for a quiet minute or for the slowdown")
    return _divide_waits(conn, way, job, place["fabric_id"], own, unsure, span, known_loads)


def _has_usual_moment(span: _Span, width: int) -> bool:
    """Return whether a whole moment lies between the job's first usual step and its slow stretch."""
    if span.usual_s is None:
        return False
    return math.ceil(span.usual_s / width - NOT_YET) * width + width <= span.low_s


def _make_unknown(reason: str) -> Flow:
    return Flow(0.0, 0.0, 0.0, {}, 0.0, math.nan, [], 60, reason=reason)


def _read_waits(
    conn: Conn, columns: Columns, fabric_id: int, weight: Floats, width: int, from_s: float, to_s: float
) -> tuple[Floats, Floats]:
    """Read moments of a width (epoch seconds) and stall cycles per flit on the job's path in each, from the routers with most of its traffic.

    `weight` is the part of the traffic that passes each router, (routers, columns).
    """
    watched = _pick_heaviest(weight, MOST_WATCHED)
    at, router, flits, stalls = read_counts(conn, columns, fabric_id, width, watched, (from_s, to_s))
    if not len(at):
        return np.empty(0), np.empty(0)
    moments, index = np.unique(at, return_inverse=True)
    router_weight = weight[router]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(flits > 0, stalls / flits, 0.0)
    is_known = np.isfinite(flits) & np.isfinite(stalls)
    waits = np.bincount(index, np.where(is_known, router_weight * ratio, 0.0).sum(axis=1))
    weight_seen = np.bincount(index, np.where(is_known, router_weight, 0.0).sum(axis=1))
    whole = weight[watched].sum()
    enough = weight_seen >= LEAST_COUNTED * whole
    return moments[enough], waits[enough] / weight_seen[enough]


@dataclass(frozen=True)
class _Chosen:
    """Start times of moments of one width, epoch seconds: a quiet one, and those of the slow stretch.

    `calm`: whether the quiet one is known to be quiet; `usual`: whether the job's steps show it.
    """

    width: int
    quiet_s: float
    slow_s: list[float]
    calm: bool
    usual: bool


def _choose_moments(
    series: tuple[Floats, Floats], width: int, low_s: float, end_s: float, usual_s: float | None = None
) -> _Chosen | None:
    """Choose the moments to compare; None without a slow one and another one."""
    at, waits = series
    # A moment that is mostly outside the slow stretch shows another speed.
    inside_s = np.minimum(at + width, end_s) - np.maximum(at, low_s)
    slow = np.flatnonzero((inside_s > 0) & (inside_s >= min(MOSTLY * width, inside_s.max(initial=0.0))))
    if not len(slow):
        return None
    # The worst of each equal part, so that a later job does not hide an earlier one.
    worst = np.array(
        [part[np.argmax(waits[part])] for part in np.array_split(slow, MOST_SLOW_MOMENTS[width]) if len(part)]
    )
    rest = np.setdiff1d(np.arange(len(at)), worst)
    if not len(rest):
        return None
    quiet_place, usual = _find_quiet_moment(at, waits, width, (low_s, end_s), worst, rest, usual_s)
    quiet = int(rest[np.argmin(waits[rest])]) if quiet_place is None else quiet_place
    return _Chosen(width, float(at[quiet]), sorted(at[worst].tolist()), quiet_place is not None, usual)


def _find_quiet_moment(
    at: Floats, waits: Floats, width: int, stretch: tuple[float, float], worst: Ints, rest: Ints, usual_s: float | None
) -> tuple[int | None, bool]:
    """Return the index of the quiet moment among the rest, None if none is known to be quiet, and whether the job's steps show it.

    While the job ran at its usual speed, the network was calm enough. If it never did, moments before it are searched. Older moments are worse, because
    more jobs started and ended since. The order is: the last moments before the onset, earlier ones, those between the worst ones (bursts have
    pauses), and those after the slow stretch. The first group with a moment that is calm enough is used.
    """
    low_s, end_s = stretch
    most = float(waits[worst].max())
    before = rest[at[rest] + width <= low_s]
    first_s = low_s - LOOKED_AT_FIRST[0] * width
    usual = before[at[before] >= max(first_s, usual_s - NOT_YET * width)] if usual_s is not None else before[:0]
    if len(usual):
        return _pick_calmest(at, waits, width, low_s, usual, most), True
    recent_places = [before[at[before] >= low_s - (back + 1) * width] for back in LOOKED_AT_FIRST]
    for some in (*recent_places, before, rest[at[rest] < end_s], rest):
        if len(some) and waits[some].min() <= CALM * most:
            return _pick_calmest(at, waits, width, low_s, some, most), False
    return None, False


def _pick_calmest(at: Floats, waits: Floats, width: int, low_s: float, some: Ints, most: float) -> int:
    """Return the moment closest to the onset among those near the calmest."""
    least = waits[some].min()
    calm = some[waits[some] <= least + max(QUIET_CYCLES, QUIET * (most - least))]
    return int(calm[np.argmin(np.abs(at[calm] + width / 2 - low_s))])


def _divide_waits(
    conn: Conn,
    way: CountedRoutes,
    job: Row,
    fabric_id: int,
    of_job: Way,
    chosen: _Chosen,
    span: _Span,
    known_loads: MomentLoads,
) -> Flow:
    width, moments_s = chosen.width, [chosen.quiet_s, *chosen.slow_s]
    jobs = _list_jobs(
        conn,
        job["job_pk"],
        job["simulated"],
        fabric_id,
        [(at, min(at + width, span.now_s)) for at in moments_s],
        span.alongside,
    )
    own = next((place for place, entry in enumerate(jobs) if entry["job_pk"] == job["job_pk"]), None)
    if own is None:
        return _make_unknown(NO_RECORD)
    (quiet, *slow), _ = load_moments(conn, way, fabric_id, of_job, width, moments_s, jobs, span.now_s, known_loads)
    attribution = attribute_waiting(way.routes, way.places, of_job.weight, slow, quiet, own, way.flit_bytes)
    total, *each = (
        {entry["job_pk"]: share for entry, share in zip(jobs, part.tolist(), strict=True)}
        for part in (attribution.part, *attribution.moments)
    )
    largest = np.argsort(-attribution.part, kind="stable")[:MOST_REPORTED].tolist()
    sent_per_s = {
        jobs[place]["job_pk"]: (_mean_sent_per_s([quiet], place), _mean_sent_per_s(slow, place)) for place in largest
    }
    minutes = list(zip(attribution.waits.tolist(), each, strict=True))
    reason = attribution.reason
    if reason is None and not any(entry is not None and entry.known for moment in slow for entry in moment.traffic):
        reason = NO_CARDS
    return Flow(
        attribution.waiting,
        attribution.quiet,
        attribution.counted,
        total,
        float(attribution.part[own]),
        chosen.quiet_s,
        chosen.slow_s,
        width,
        minutes,
        sent_per_s,
        reason,
        way.routes.known_by,
        way.by_class,
    )


@dataclass(frozen=True)
class Watched:
    """Watched path: nodes in a place, their routers and endpoints, and whether it leads to the file system. `simulated` selects the jobs.

    `quiet` is its quiet moment, epoch seconds; None: unknown.
    """

    fabric_id: int
    job_pk: int
    simulated: bool
    router: Sequence[int]
    endpoint: Sequence[int]
    to_file_system: bool = False
    quiet: tuple[float, float] | None = None


def minutes_counted(conn: Conn, watched: Watched, from_s: float, to_s: float) -> list[float]:
    """Return the minutes of a span, epoch seconds, in which most of a path between routers is counted."""
    way = counted_routes(conn, watched.fabric_id, from_s, to_s)
    if way.routes.reason is not None or not len(way.places.links):
        return []
    own = way.way(watched.router, watched.endpoint, watched.to_file_system)
    if own.weight.sum() <= 0:
        return []
    at, _ = _read_waits(conn, way.columns, watched.fabric_id, own.of_routers, 60, from_s // 60 * 60, to_s)
    return [float(minute_s) for minute_s in at]


def by_minute(
    conn: Conn, watched: Watched, quiet_waiting: float, minutes_s: Sequence[float]
) -> list[tuple[float, dict[int, float] | None]]:
    """Return, for some minutes, stall cycles per flit on a path, and jobs' parts of those beyond the quiet ones, by job_pk; None if unknown.

    Without a quiet moment these are parts of the traffic where flits wait. `quiet_waiting` is the waiting in the quiet moment.
    """
    last_s = max(minutes_s) + 60
    way = counted_routes(conn, watched.fabric_id, min(minutes_s), last_s)
    own = way.way(watched.router, watched.endpoint, watched.to_file_system)
    quiet_spans = [] if watched.quiet is None else [watched.quiet]
    spans = [*quiet_spans, *((at, at + 60) for at in minutes_s)]
    jobs = _list_jobs(conn, watched.job_pk, watched.simulated, watched.fabric_id, spans)
    if not jobs or jobs[0]["job_pk"] != watched.job_pk:
        jobs.insert(0, {"job_pk": watched.job_pk, "start_s": math.inf, "end_s": None, "endpoint": [], "router": []})
    calm: LinkWaits | None = None
    quiet: Moment | None = None
    for low, high in quiet_spans:
        width = round(high - low)
        (quiet,), calm = load_moments(conn, way, watched.fabric_id, own, width, [low], jobs, high, {})
    results = []
    for at in minutes_s:
        # One by one: what is known of every link in a minute takes tens of megabytes on a large machine.
        (moment,), _ = load_moments(conn, way, watched.fabric_id, own, 60, [at], jobs, last_s, {}, calm)
        waiting, part = _divide_minute(way, own, moment, quiet, quiet_waiting)
        job_parts = None if part is None else dict(zip((row["job_pk"] for row in jobs), part.tolist(), strict=True))
        results.append((waiting, job_parts))
    return results


def _divide_minute(
    way: CountedRoutes, own: Way, moment: Moment, quiet: Moment | None, quiet_waiting: float
) -> tuple[float, Floats | None]:
    """Return the waiting on a path in a minute, and the jobs' parts of it, (jobs,), the first job being the slow one; None if unknown.

    Links on which flits wait less than in the quiet moment do not hide others.
    """
    if quiet is None:
        waiting = float(own.weight @ np.nan_to_num(moment.ratio))
        return waiting, compute_user_parts(way.routes, way.places, own.weight, moment, way.flit_bytes)
    attribution = attribute_waiting(way.routes, way.places, own.weight, [moment], quiet, 0, way.flit_bytes)
    return quiet_waiting + attribution.waiting, None if attribution.reason is not None else attribution.part


def sent_by_minute(conn: Conn, fabric_id: int, job_pk: int, from_s: float, to_s: float) -> list[tuple[float, float]]:
    """Return (start in epoch seconds, bytes per second of a network card) for whole minutes of a job's run in a span: mean over some of its nodes."""
    return conn.execute(
        """
        SELECT extract(epoch FROM e.ts)::float8 AS at, (sum(tx_bytes) / sum(seconds))::float8
        FROM job j JOIN endpoint_1m e ON e.ts >= j.start_ts AND e.ts + interval '1 minute' <= coalesce(j.end_ts, 'infinity')
        WHERE j.job_pk = %(job)s AND e.fabric_id = %(fabric)s AND e.ts >= to_timestamp(%(from)s) AND e.ts < to_timestamp(%(to)s) AND tx_bytes IS NOT NULL
          AND e.endpoint = ANY(ARRAY(SELECT DISTINCT endpoint FROM job_node WHERE job_pk = %(job)s AND fabric_id = %(fabric)s AND endpoint IS NOT NULL ORDER BY 1 LIMIT %(most)s))
        GROUP BY e.ts ORDER BY e.ts
        """,
        {"job": job_pk, "fabric": fabric_id, "from": from_s, "to": to_s, "most": MOST_WATCHED},
    ).fetchall()


def _mean_sent_per_s(moments: list[Moment], job: int) -> float | None:
    """Return a job's bytes per second sent, mean over moments: 0 if it did not run, None if too few of its NICs are counted."""
    rates = []
    for moment in moments:
        moved = moment.traffic[job]
        if moved is not None and not moved.known:
            return None
        rates.append(
            0.0 if moved is None else moved.total_sent / int(moved.counted.sum()) * len(moved.sent) / moment.seconds
        )
    return sum(rates) / len(rates)


def _list_jobs(
    conn: Conn, job_pk: int, simulated: bool, fabric_id: int, spans: list[tuple[float, float]], alongside: Sequence[Row] = ()
) -> list[Row]:  # fmt: skip
    """Return jobs that ran in some of the spans, the slow one first: job_pk, start_s, end_s, and each endpoint and its router (int64 arrays).

    Those `alongside` are not read again.
    """
    rows = [
        row
        for row in alongside
        if any(row["start_s"] < high and (row["end_s"] is None or row["end_s"] > low) for low, high in spans)
    ]
    known = [row["job_pk"] for row in alongside]
    rows += list_placed_jobs(conn, fabric_id, simulated, spans, job_pk, MOST_JOBS, known)
    jobs = []
    for row in rows:
        placed = row["endpoint"] >= 0
        endpoint, first = np.unique(row["endpoint"][placed], return_index=True)
        if len(endpoint):
            jobs.append({**row, "endpoint": endpoint, "router": row["router"][placed][first], "size": placed.sum()})
    return sorted(jobs, key=lambda job: (job["job_pk"] != job_pk, -job["size"], job["job_pk"]))[:MOST_JOBS]


def _pick_heaviest(weight: Floats, most: int) -> Ints:
    """Return the sorted routers with most of a job's traffic, (n,), from the part that passes each of their places, (routers, kinds)."""
    by_router = weight.sum(axis=1)
    order = np.argsort(-by_router, kind="stable")[:most]
    return np.sort(order[by_router[order] > 0])
