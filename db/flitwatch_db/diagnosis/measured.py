"""Port windows and packet-sample maps as inputs of the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier

from flitwatch_db.core import packing
from flitwatch_db.core.columns import packed_arrays, packed_rates, unpack_arrays
from flitwatch_db.core.connection import database_key, fetch_rows
from flitwatch_db.counters.reads import PORT_BUCKET_S
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import COUNT_BYTES, LANES, UNKNOWN_WAITS
from flitwatch_domain.diagnosis import CongestionMap, PortWindow, Turns
from flitwatch_domain.fabric import CountedAt, Fabric
from flitwatch_domain.kept import Kept
from flitwatch_domain.sampling import clip_estimates

Conn = psycopg.Connection[Any]
Row = dict[str, Any]
#: Flits, stall cycles and counted seconds by link, and the number of buckets with its flits, (links,) each.
PortSums = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]

#: Minimum number of sampled packets of a link for a congested fraction.
LEAST_PACKETS = 50
MOST_CONTEXTS = 10_000
_MOST_FABRICS = 4
_fabrics = Kept[Fabric](_MOST_FABRICS)
_turns = Kept[Turns](_MOST_FABRICS)
#: Maximum number of cached windows of ports, some 5 MB each on 3,264 routers, and of network cards.
_MOST_WINDOWS = 4
_sums = Kept[PortSums](_MOST_WINDOWS)
_cards = Kept[NDArray[np.float64]](_MOST_WINDOWS)


def fabric_of(conn: Conn, fabric_id: int) -> Fabric:
    """Return a fabric, cached until its row is written again."""
    row = conn.execute("SELECT xmin::text FROM fabric WHERE fabric_id = %s", [fabric_id]).fetchone()
    key, version = (*database_key(conn), fabric_id), None if row is None else row[0]
    return _fabrics.find(key, version) or _fabrics.keep(key, fabrics.load_fabric(conn, fabric_id), version)


def turns_of(conn: Conn, fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> Turns | None:
    """Return the turns in the tables that were loaded for all of [from, to); None if they are unknown, incomplete, or changed."""
    tables = route_changes.find_tables_key(conn, fabric_id, from_s, to_s)
    if tables is None:
        return None
    turns = _turns.find(tables, fabric)
    if turns is None:
        ports = route_changes.ports_of(conn, fabric_id, tables)
        turns = None if ports is None else _join_turns(fabric, ports)
    return None if turns is None else _turns.keep(tables, turns, fabric)


def _join_turns(fabric: Fabric, ports: NDArray[np.int64]) -> Turns | None:
    """Return the turns in forwarding tables (routers, endpoints); None if the tables are incomplete."""
    links, routers = fabric.links, len(fabric.routers)
    if ports.shape != (routers, len(fabric.endpoints)):
        return None
    led = ports >= 0
    # A node that no switch reaches is down; one that only some reach has incomplete routes.
    if (led.any(axis=0) & ~led.all(axis=0)).any():
        return None
    here = np.flatnonzero((links.src < routers) & (links.src_port >= 0))
    width = max(int(links.src_port[here].max(initial=0)), int(ports.max(initial=0))) + 1
    at_port = np.full((routers, width), -1, np.int64)
    at_port[links.src[here], links.src_port[here]] = here
    table = np.where(led, at_port[np.arange(routers)[:, None], np.maximum(ports, 0)], -1)
    return Turns(fabric, table.T)


def port_window(conn: Conn, fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> PortWindow:
    """Return utilisation and stalls of each link in [from, to), whole ten-second buckets; for endpoints without port counts, from network cards."""
    flits, stalls, seconds, _ = port_sums(conn, fabric_id, fabric, from_s, to_s)
    capacity = fabric.links.bandwidth_bps * fabric.links.multiplicity / 8
    size = COUNT_BYTES.get(fabric.technology, np.nan)
    carried = flits * size / seconds
    ratio = np.divide(stalls, flits, out=np.zeros(len(flits)), where=flits > 0)
    ratio[np.isnan(flits) | np.isnan(stalls)] = np.nan
    _add_cards(conn, fabric_id, fabric, (from_s, to_s), (carried, ratio))
    return PortWindow(fabric, carried / capacity, ratio)


def port_sums(conn: Conn, fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> PortSums:
    """Read flits, stall cycles and counted seconds by link, NaN if not counted, and the number of buckets with the link's flits. The arrays are read-only.

    The minute after an onset is requested in every examination of a slow job. Rows are only added, so a window is read again if its rows or its counted
    seconds have increased.
    """
    span = [fabric_id, from_s, to_s - PORT_BUCKET_S]
    rows = "FROM port_10s WHERE fabric_id = %s AND ts >= to_timestamp(%s) AND ts <= to_timestamp(%s)"
    counted = conn.execute(SQL(f"SELECT count(*), sum(port_seconds) {rows}"), span).fetchone()
    key, state = (*database_key(conn), *span), (fabric, counted)
    cached = _sums.find(key, state)
    if cached is not None:
        return cached
    query = SQL(f"SELECT array_send(array_agg(router)), {{}}, {{}} {rows}").format(
        packed_arrays(SQL("flits")), packed_arrays(SQL("stall_cycles"))
    )
    with conn.cursor(binary=True) as cursor:
        row = cursor.execute(query, span).fetchone()
    assert row is not None
    router = np.asarray(packing.unpack_numbers(row[0], ">i4"), np.int64)
    sums = _by_link(fabric, router, unpack_arrays(row[1], row[2]), unpack_arrays(row[3], row[4]))
    for array in sums:
        array.setflags(write=False)
    return _sums.keep(key, sums, state)


def _by_link(
    fabric: Fabric, router: NDArray[np.int64], flits: NDArray[np.float64], stalls: NDArray[np.float64]
) -> PortSums:
    """Convert rows to `port_sums`: the router of each (n,), and its ports' counts (n, ports)."""
    links = len(fabric.links)
    table = fabric.counted_links()
    inside = router < len(table)
    sums, buckets = [], []
    for values in (flits, stalls):
        # Flits of ports without counted waits are still used.
        width = min(values.shape[1], table.shape[1])
        values, link = values[inside, :width], table[router[inside], :width]
        is_known = np.isfinite(values) & (link >= 0)
        total = np.bincount(link[is_known], values[is_known], links)
        buckets.append(np.bincount(link[is_known], minlength=links))
        sums.append(np.where(buckets[-1] > 0, total, np.nan))
    rows = np.bincount(router[inside], minlength=len(table)) * float(PORT_BUCKET_S)
    at = np.full(links, -1)
    there = table >= 0
    at[table[there]] = np.nonzero(there)[0]
    seconds = np.where(at >= 0, rows[at], 0.0)
    return sums[0], sums[1], np.where(seconds > 0, seconds, np.nan), buckets[0]


#: A port that was counted for less than this share of the longest counted time is treated as not counted.
LEAST_COVERED = 0.5


@dataclass(frozen=True)
class LinkSums:
    """Bytes on links in [from_s, to_s): (links,), NaN if a link was not counted for long enough."""

    carried: NDArray[np.float64]
    from_s: float
    to_s: float


def link_bytes(conn: Conn, fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> LinkSums:
    """Return bytes by link in [from, to), widened to whole buckets, from switch ports, or from network cards for links without port counts."""
    from_s, to_s = np.floor(from_s / PORT_BUCKET_S) * PORT_BUCKET_S, np.ceil(to_s / PORT_BUCKET_S) * PORT_BUCKET_S
    flits, _, _, buckets = port_sums(conn, fabric_id, fabric, from_s, to_s)
    carried = flits * COUNT_BYTES.get(fabric.technology, np.nan)
    carried[buckets < LEAST_COVERED * buckets.max(initial=0)] = np.nan
    rows = conn.execute(
        "SELECT endpoint, sum(tx_bytes), sum(rx_bytes), sum(seconds) FROM endpoint_1s"
        " WHERE fabric_id = %s AND ts > to_timestamp(%s) AND ts <= to_timestamp(%s) GROUP BY endpoint",
        [fabric_id, from_s, to_s],
    ).fetchall()
    routers, ends = len(fabric.routers), len(fabric.endpoints)
    longest = max((seconds for *_, seconds in rows), default=0.0)
    cards = np.full((2, ends), np.nan)
    for endpoint, sent_bytes, received, seconds in rows:
        if endpoint < ends and seconds >= LEAST_COVERED * longest:
            cards[:, endpoint] = [np.nan if count is None else count for count in (sent_bytes, received)]
    for counted, end in zip(cards, (fabric.links.src, fabric.links.dst), strict=True):
        uncounted = (end >= routers) & np.isnan(carried)
        carried[uncounted] = counted[end[uncounted] - routers]
    return LinkSums(carried, float(from_s), float(to_s))


def level_bytes(conn: Conn, fabric_id: int, fabric: Fabric, from_s: float, to_s: float) -> NDArray[np.float64]:
    """Return bytes by link and service level (links, LANES) in [from, to), whole buckets; NaN if levels are not counted."""
    links, routers = len(fabric.links), len(fabric.routers)
    level_sums = np.full((links, LANES), np.nan)
    size = COUNT_BYTES.get(fabric.technology, np.nan)
    counted = fabric.counted_links()
    own = np.full(len(fabric.endpoints), -1)
    sends = np.flatnonzero(fabric.links.src >= routers)
    own[fabric.links.src[sends] - routers] = sends
    for device, table in (("router", counted), ("endpoint", own[:, None])):
        query = SQL("""
            SELECT array_send(array_agg({device})), {} FROM {table}
            WHERE fabric_id = %s AND ts >= to_timestamp(%s) AND ts <= to_timestamp(%s)
        """).format(packed_arrays(SQL("sl_flits")), device=Identifier(device), table=Identifier(f"{device}_lane_10s"))
        with conn.cursor(binary=True) as cursor:
            row = cursor.execute(query, [fabric_id, from_s, to_s - PORT_BUCKET_S]).fetchone()
        assert row is not None
        at = np.asarray(packing.unpack_numbers(row[0], ">i4"), np.int64)
        flits = unpack_arrays(row[1], row[2])
        width = min(flits.shape[1] // LANES, table.shape[1])
        inside = at < len(table)
        link = table[at[inside], :width]
        values = flits[inside, : width * LANES].reshape(len(link), width, LANES)
        is_known = np.isfinite(values).any(axis=2) & (link >= 0)
        total, buckets = np.zeros((links, LANES)), np.bincount(link[is_known], minlength=links)
        np.add.at(total, link[is_known], np.nan_to_num(values[is_known]) * size)
        enough = (buckets > 0) & (buckets >= LEAST_COVERED * buckets.max(initial=0))
        level_sums[enough] = total[enough]
    return level_sums


def newest_port_s(conn: Conn, fabric_id: int) -> float | None:
    """Return the end of the newest bucket of a fabric's ports; None if ports were never counted."""
    row = conn.execute(
        "SELECT extract(epoch FROM ts)::float8 FROM port_10s WHERE fabric_id = %s ORDER BY ts DESC LIMIT 1", [fabric_id]
    ).fetchone()
    return None if row is None else float(row[0]) + PORT_BUCKET_S


def _add_cards(
    conn: Conn,
    fabric_id: int,
    fabric: Fabric,
    window: tuple[float, float],
    links: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Add values for endpoint links without port counts, from network cards: bytes per second, and at senders the stalls."""
    carried, ratio = links
    routers, word = len(fabric.routers), COUNT_BYTES.get(fabric.technology, np.nan)
    ends = {end: np.flatnonzero((vertex >= routers) & np.isnan(carried)) for end, vertex in enumerate((fabric.links.src, fabric.links.dst))}  # fmt: skip
    if not any(len(link_ids) for link_ids in ends.values()):
        return
    cards = _read_card_rates(conn, fabric_id, len(fabric.endpoints), *window)
    waits_known = fabric.counted_at is CountedAt.SENDER and fabric.technology not in UNKNOWN_WAITS
    for end, link_ids in ends.items():
        card = (fabric.links.src, fabric.links.dst)[end][link_ids] - routers
        carried[link_ids] = cards[end, card]
        if end == 0 and waits_known:
            sent_per_s, waits = cards[0, card], cards[2, card]
            is_known = (sent_per_s > 0) & np.isfinite(waits)
            ratio[link_ids[is_known]] = waits[is_known] / (sent_per_s[is_known] / word)


def _read_card_rates(conn: Conn, fabric_id: int, endpoints: int, from_s: float, to_s: float) -> NDArray[np.float64]:
    """Read bytes sent, bytes received and wait cycles per second of every network card: (3, endpoints), NaN if not counted.

    A row has the time of the sample that ends its interval.
    """
    span = [fabric_id, from_s, to_s]
    rows = SQL("FROM endpoint_1s WHERE fabric_id = %s AND ts > to_timestamp(%s) AND ts <= to_timestamp(%s)")
    counted = conn.execute(SQL("SELECT count(*), sum(samples) {}").format(rows), span).fetchone()
    key, state = (*database_key(conn), *span), (endpoints, counted)
    cached = _cards.find(key, state)
    if cached is not None:
        return cached
    query = SQL("""
        SELECT array_send(array_agg(endpoint)), {} FROM (
            SELECT endpoint, sum(tx_bytes) AS tx_bytes, sum(rx_bytes) AS rx_bytes, sum(tx_wait_cycles) AS tx_wait_cycles, sum(seconds) AS seconds
            {} GROUP BY endpoint
        ) e
    """).format(packed_rates(("tx_bytes", "rx_bytes", "tx_wait_cycles")), rows)
    with conn.cursor(binary=True) as cursor:
        row = cursor.execute(query, span).fetchone()
    assert row is not None
    cards = np.full((3, endpoints), np.nan)
    endpoint = packing.unpack_numbers(row[0], ">i4").astype(np.int64)
    is_known = endpoint < endpoints
    for figures, packed in zip(cards, row[1:], strict=True):
        figures[endpoint[is_known]] = packing.unpack_numbers(packed, ">f8")[is_known]
    cards.setflags(write=False)
    return _cards.keep(key, cards, state)


def find_sample_contexts(
    conn: Conn, fabric_id: int | None, job: str, tag: str | None, phase: str | None, from_s: float, to_s: float
) -> list[Row]:
    """Return contexts of a job's packet samples that overlap [from, to), newest first: context_id, fabric_id, first_s, last_s, variants, simulated."""
    return fetch_rows(
        conn,
        """
            SELECT context_id, fabric_id, extract(epoch FROM first_ts)::float8 AS first_s, extract(epoch FROM last_ts)::float8 AS last_s, variants, simulated
            FROM sample_context WHERE job_id = %(job)s AND (%(fabric)s::int IS NULL OR fabric_id = %(fabric)s)
              AND (%(tag)s::text IS NULL OR tag = %(tag)s) AND (%(phase)s::text IS NULL OR phase = %(phase)s)
              AND first_ts < to_timestamp(%(to)s) AND last_ts >= to_timestamp(%(from)s) - interval '1 s'
            ORDER BY last_ts DESC LIMIT %(most)s
            """,
        {
            "job": job,
            "fabric": fabric_id,
            "tag": tag,
            "phase": phase,
            "from": from_s,
            "to": to_s,
            "most": MOST_CONTEXTS,
        },
    )


def sample_map(conn: Conn, fabric: Fabric, found: Sequence[Row], from_s: float, to_s: float) -> CongestionMap | None:
    """Build the congestion map of links in [from, to) from the packets of some contexts; None if there are no samples.

    If seconds are no longer kept, minutes are read.
    """
    ids = [row["context_id"] for row in found]
    rows: list[Any] = []
    for table, width in ((SQL("sample_1s"), 1), (SQL("sample_1m"), 60)):
        query = SQL("""
            SELECT link, sum(tested), sum(tested_bytes), sum(traffic), sum(traffic_variance), sum(congested), sum(congested_variance)
            FROM {} WHERE context_id = ANY(%s) AND ts >= to_timestamp(%s) AND ts < to_timestamp(%s) GROUP BY link
        """).format(table)
        rows = conn.execute(query, [ids, from_s // width * width, to_s]).fetchall()
        if rows:
            break
    if not rows:
        return None
    columns = np.array(rows, float).T
    link = columns[0].astype(np.int64)
    one_bit = any("one-bit" in row["variants"] for row in found)
    traffic = clip_estimates(columns[3], columns[4], one_bit)
    congested = np.minimum(clip_estimates(columns[5], columns[6], one_bit), traffic)
    fraction, use = np.full(len(fabric.links), np.nan), np.full(len(fabric.links), np.nan)
    enough = traffic >= LEAST_PACKETS
    fraction[link[enough]] = congested[enough] / traffic[enough]
    mean = np.divide(columns[2], columns[1], out=np.zeros(len(link)), where=columns[1] > 0)
    capacity = fabric.links.bandwidth_bps * fabric.links.multiplicity / 8 * (to_s - from_s)
    use[link] = traffic * mean / capacity[link]
    return CongestionMap(fabric, fraction, use)
