"""Counters around the onset of a slow stretch, before and after it: of routers, links and network cards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

from flitwatch_db.core import packing
from flitwatch_db.core.columns import packed_arrays, unpack_arrays
from flitwatch_db.core.connection import fetch_rows
from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.carriers import Count, LinkCount, RouterCounts
from flitwatch_domain.fabric import CountedAt, Fabric

Conn = psycopg.Connection[Any]
Row = dict[str, Any]
Window = tuple[float, float]

#: Seconds by which a NIC's row can be later than the counted events: its time is that of the sample that ends the interval.
NIC_LATE_S = 10.0
#: Minutes before the onset in which a job's own maximum is taken, and how many must be counted.
MINUTES, LEAST_MINUTES = 10, 3
#: Maximum number of routers whose ports are read: those with the largest increase of stalls, where the links with the largest increase end. All ports would take ten times as long.
MOST_PORTS_OF = 32


def own_series(conn: Conn, place: Row, from_s: float, to_s: float, width_s: int) -> slowdown.Series:
    """Return stall cycles per flit of a job's routers over time."""
    table = SQL("router_1s") if width_s == 1 else SQL("router_1m")
    where = (
        SQL("ts = ANY(ARRAY(SELECT generate_series(to_timestamp(%(from)s), to_timestamp(%(to)s), interval '1 s')))")
        if width_s == 1
        else SQL("ts >= to_timestamp(%(from)s) AND ts < to_timestamp(%(to)s)")
    )
    rows = fetch_rows(
        conn,
        SQL(
            "SELECT extract(epoch FROM ts)::float8 AS at, sum(rt_stall_cycles) / nullif(sum(rt_flits), 0) AS ratio FROM {}"
            " WHERE fabric_id = %(fabric)s AND router = ANY(%(routers)s) AND {} GROUP BY ts ORDER BY ts"
        ).format(table, where),
        {
            "fabric": place["fabric_id"],
            "routers": sorted(set(place["router"])),
            "from": math.floor(from_s / width_s) * width_s,
            "to": math.floor(to_s / width_s) * width_s,
        },
    )
    ratio = np.array([math.nan if row["ratio"] is None else row["ratio"] for row in rows], float)
    return slowdown.Series(np.array([row["at"] for row in rows], float), ratio, float(width_s))


def sent_by(
    conn: Conn, fabric_id: int, jobs: list[int], before: Window, after: Window
) -> dict[int, tuple[float | None, float | None]]:
    """Return bytes per second sent by the nodes of each job before and after; None if no NIC was counted."""
    rows = fetch_rows(
        conn,
        SQL("""
            WITH counted AS (
                SELECT endpoint, sum(tx_bytes) FILTER (WHERE NOT late) / nullif(sum(seconds) FILTER (WHERE NOT late AND tx_bytes IS NOT NULL), 0) AS
                before,
                       sum(tx_bytes) FILTER (WHERE late) / nullif(sum(seconds) FILTER (WHERE late AND tx_bytes IS NOT NULL), 0) AS after
                FROM (
                    SELECT endpoint, tx_bytes, seconds, ts >= to_timestamp(%(c)s) AS late FROM endpoint_1s
                    WHERE fabric_id = %(fabric)s AND (ts >= to_timestamp(%(a)s) AND ts < to_timestamp(%(b)s) OR ts >= to_timestamp(%(c)s) AND ts <
                    to_timestamp(%(d)s))
                ) e GROUP BY endpoint
            )
            SELECT n.job_pk, sum(before)::float8 * count(*) / nullif(count(before), 0) AS before, sum(after)::float8 * count(*) /
            nullif(count(after), 0) AS after
            FROM job_node n LEFT JOIN counted USING (endpoint) WHERE n.job_pk = ANY(%(jobs)s) AND n.fabric_id = %(fabric)s GROUP BY 1
        """),
        {
            "fabric": fabric_id,
            "jobs": jobs,
            "a": before[0],
            "b": before[1],
            "c": after[0] + NIC_LATE_S,
            "d": after[1] + NIC_LATE_S,
        },
    )
    return {row["job_pk"]: (row["before"], row["after"]) for row in rows}


def most_sent(conn: Conn, fabric_id: int, jobs: list[int], low_s: float) -> dict[int, float]:
    """Return the highest bytes per second of each job's nodes in a minute of its run before the onset; only for jobs with enough such minutes."""
    end_s = math.floor(low_s / 60) * 60
    rows = fetch_rows(
        conn,
        SQL("""
            SELECT job_pk, max(rate) AS most FROM (
                SELECT n.job_pk, e.ts, sum(e.tx_bytes) / nullif(sum(e.seconds), 0) * j.size AS rate
                FROM endpoint_1m e JOIN job_node n ON (n.fabric_id, n.endpoint) = (e.fabric_id, e.endpoint)
                JOIN (
                    SELECT m.job_pk, o.start_ts, count(*) AS size FROM job_node m JOIN job o USING (job_pk)
                    WHERE m.job_pk = ANY(%(jobs)s) AND (m.fabric_id = %(fabric)s OR m.fabric_id IS NULL) GROUP BY 1, 2
                ) j ON j.job_pk = n.job_pk AND j.start_ts <= e.ts
                WHERE n.job_pk = ANY(%(jobs)s) AND e.fabric_id = %(fabric)s AND e.ts >= to_timestamp(%(from)s) AND e.ts < to_timestamp(%(to)s) AND
                e.tx_bytes IS NOT NULL
                GROUP BY n.job_pk, e.ts, j.size
            ) m GROUP BY job_pk HAVING count(*) >= %(least)s
        """),
        {"fabric": fabric_id, "jobs": jobs, "from": end_s - 60 * MINUTES, "to": end_s, "least": LEAST_MINUTES},
    )
    return {row["job_pk"]: row["most"] for row in rows}


def of_routers(conn: Conn, fabric_id: int, size: int, before: Window, after: Window) -> RouterCounts:
    """Return flits and stall cycles of every router of a fabric in both windows; NaN if not counted."""
    query = SQL("""
        SELECT array_send(array_agg(router)), array_send(array_agg(late::int)), array_send(array_agg(coalesce(flits, 'NaN'))),
        array_send(array_agg(coalesce(stalls, 'NaN')))
        FROM (
            SELECT router, ts >= to_timestamp(%(c)s) AS late, sum(rt_flits) AS flits, sum(rt_stall_cycles) AS stalls FROM router_1s
            WHERE fabric_id = %(fabric)s AND (ts >= to_timestamp(%(a)s) AND ts < to_timestamp(%(b)s) OR ts >= to_timestamp(%(c)s) AND ts <
            to_timestamp(%(d)s))
            GROUP BY 1, 2
        ) r
    """)
    row = conn.execute(query, {"fabric": fabric_id, **_whole_seconds(before, after)}, binary=True).fetchone()
    assert row is not None
    router, late = (packing.unpack_numbers(packed, ">i4").astype(np.int64) for packed in row[:2])
    is_known = router < size
    counts = np.full((2, 2, size), np.nan)
    for figures, packed in zip(counts, row[2:], strict=True):
        figures[late[is_known], router[is_known]] = packing.unpack_numbers(packed, ">f8")[is_known]
    return RouterCounts(*counts[0], *counts[1])


def _whole_seconds(before: Window, after: Window) -> dict[str, int]:
    """Return the whole seconds within the windows."""
    return {"a": math.ceil(before[0]), "b": math.floor(before[1]), "c": math.ceil(after[0]), "d": math.floor(after[1])}


def onward_of(fabric: Fabric, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sorted routers at which links of a job's routers `own` are counted, including these routers."""
    links, is_own = fabric.links, np.zeros(len(fabric.routers) + len(fabric.endpoints), bool)
    is_own[own] = True
    here = fabric.router_links() & (is_own[links.src] | is_own[links.dst])
    return np.union1d(_counted_at(fabric)[0][here], own)


def _counted_at(fabric: Fabric) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return routers and ports (L,) at which each link is counted."""
    links = fabric.links
    return (links.dst, links.dst_port) if fabric.counted_at is CountedAt.RECEIVER else (links.src, links.src_port)


def of_links(
    conn: Conn,
    fabric_id: int,
    fabric: Fabric,
    own: NDArray[np.int64],
    ends: NDArray[np.int64],
    counted: RouterCounts,
    before: Window,
    after: Window,
) -> list[LinkCount]:
    """Return links at a job's routers `own`, and links that join its groups, with their counts.

    Only links counted at the routers with the largest increase of stalls are included. The candidates are `ends`, where its own links are counted, and
    the routers of its groups.
    """
    group, links = fabric.routers.group, fabric.links
    joined = np.setdiff1d(group[own], [-1])
    near = np.isin(group, joined)
    near[ends] = True
    ends = np.flatnonzero(near)
    gained = np.nan_to_num(counted.gained[ends], nan=-1.0)
    most = ends[np.argsort(-gained, kind="stable")[:MOST_PORTS_OF]]
    at, port = _counted_at(fabric)
    here = np.flatnonzero(fabric.router_links() & (port >= 0) & np.isin(at, most))
    src, dst = links.src[here], links.dst[here]
    between = (group[src] != group[dst]) & np.isin(group[src], joined) & np.isin(group[dst], joined)
    here = here[np.isin(src, own) | np.isin(dst, own) | between]
    is_counted, counts = _port_counts(conn, fabric_id, at[here], port[here], before, after)
    here = here[is_counted]
    ends_of = zip(*(side[here].tolist() for side in (links.link_class, links.src, links.dst)), strict=True)
    return [
        LinkCount(
            link,
            str(links.classes[kind]),
            src,
            str(fabric.routers.name[src]),
            int(group[src]),
            dst,
            str(fabric.routers.name[dst]),
            int(group[dst]),
            Count(*(None if math.isnan(value) else value for value in figures)),
        )
        for link, (kind, src, dst), figures in zip(here.tolist(), ends_of, counts[is_counted].tolist(), strict=True)
    ]


def _port_counts(
    conn: Conn,
    fabric_id: int,
    router: NDArray[np.integer],
    port: NDArray[np.integer],
    before: Window,
    after: Window,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which ports (n,) of some routers have counts, and their flits and stalls before and after, (n, 4): whole ten-second buckets only, NaN if unknown."""
    query = SQL("""
        SELECT array_send(array_agg(router)), array_send(array_agg((ts >= to_timestamp(%(c)s))::int)), {}, {} FROM port_10s
        WHERE fabric_id = %(fabric)s AND router = ANY(%(routers)s)
          AND (ts >= to_timestamp(%(a)s) AND ts <= to_timestamp(%(b)s - 10) OR ts >= to_timestamp(%(c)s) AND ts <= to_timestamp(%(d)s - 10))
    """).format(*(packed_arrays(Identifier(name)) for name in ("flits", "stall_cycles")))
    routers = np.unique(router)
    row = conn.execute(
        query, {"fabric": fabric_id, "routers": routers.tolist(), **_whole_seconds(before, after)}, binary=True
    ).fetchone()
    assert row is not None
    number, late = (np.asarray(packing.unpack_numbers(column, ">i4"), np.int64) for column in row[:2])
    columns = unpack_arrays(row[2], row[3]), unpack_arrays(row[4], row[5])
    width = min(values.shape[1] for values in columns)
    is_counted = np.isin(router, number) & (port < width)
    counts = np.full((len(router), 2, 2), np.nan)
    cell = (late * len(routers) + np.searchsorted(routers, number))[:, None] * width + np.arange(width)
    wanted = np.searchsorted(routers, router[is_counted]) * width + port[is_counted]
    for kind, values in enumerate(columns):
        is_known = np.isfinite(values[:, :width])
        size = 2 * len(routers) * width
        # Sums of nothing are integers.
        total = np.bincount(cell[is_known], values[:, :width][is_known], size).astype(np.float64)
        total[np.bincount(cell[is_known], minlength=size) == 0] = np.nan
        counts[is_counted, :, kind] = total.reshape(2, -1)[:, wanted].T
    return is_counted, counts.reshape(-1, 4)
