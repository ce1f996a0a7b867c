"""Stored cables that are slower than others of their kind or whose link flaps, using the criteria of `flitwatch_domain.fabric.cables`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import psycopg
from psycopg.rows import dict_row

from flitwatch_db.core.columns import Connection
from flitwatch_domain.fabric.cables import describe_condition, find_slow_limit, is_flapping
from flitwatch_domain.hosts import find_host
from flitwatch_domain.importers.ibnames import is_same_adapter

Row = dict[str, Any]
#: Maximum number of listed cables.
MOST_LISTED = 1000

# Speeds of each kind of cable, and the number of links at each.
_SPEEDS = """
    SELECT fabric_id, class, node, array_agg(bandwidth_bps ORDER BY bandwidth_bps), array_agg(links ORDER BY bandwidth_bps)
    FROM (
        SELECT fabric_id, class, src_endpoint IS NOT NULL OR dst_endpoint IS NOT NULL AS node, bandwidth_bps, count(*) AS links FROM link
        WHERE bandwidth_bps < 'infinity' AND (%(fabric)s::int IS NULL OR fabric_id = %(fabric)s) GROUP BY 1, 2, 3, 4
    ) AS speeds GROUP BY 1, 2, 3
"""

# How often the links of ports went down, recovered and changed their speed or width in the last day: values come when they change, and a count that is
# cleared begins anew. A speed and a width that change together are one change.
# A record's instance is the port's GUID and number, or its host, adapter and number, then the counter (flitwatch_ingest.collectors.link_failures).
_FAILURES = """
    WITH came AS (
        SELECT regexp_replace(o.instance, '/[^/]*$', '') AS port, substring(o.instance FROM '[^/]*$') AS counter, o.ts,
               o.u64[1] - lag(o.u64[1]) OVER (PARTITION BY o.instance ORDER BY o.ts) AS more
        FROM observation o JOIN ldms_schema s USING (schema_id) WHERE s.name = 'ib_link' AND o.ts > now() - interval '1 day'
    )
    SELECT port, coalesce(sum(more) FILTER (WHERE more > 0 AND counter = 'link_downed'), 0)::int AS downs,
           coalesce(sum(more) FILTER (WHERE more > 0 AND counter = 'link_error_recovery'), 0)::int AS recoveries,
           count(DISTINCT ts) FILTER (WHERE counter IN ('link_rate', 'link_speed', 'link_width'))::int AS speed_changes
    FROM came WHERE more <> 0 GROUP BY 1
"""

# Where ports can be: a switch's port by the switch's GUID, an adapter's by its own, its adapter's or its host's name (flitwatch_domain.hosts).
_PORTS = """
    WITH port AS (
        SELECT * FROM unnest(%(ports)s::text[], %(guids)s::text[], %(hosts)s::text[], %(numbers)s::int[]) AS w (port, guid, host, number)
    ), adapter AS MATERIALIZED (
        SELECT e.fabric_id, e.endpoint, e.node, e.guid, a.adapter, a.guid AS own_guid, a.number::int
        FROM fabric f CROSS JOIN LATERAL ROWS FROM (
            jsonb_array_elements_text(f.attributes -> 'adapters'), jsonb_array_elements_text(f.attributes -> 'adapter_guids'),
            jsonb_array_elements_text(f.attributes -> 'adapter_ports')
        ) WITH ORDINALITY AS a (adapter, guid, number, at)
        JOIN endpoint e ON (e.fabric_id, e.endpoint) = (f.fabric_id, a.at - 1)
        WHERE f.technology = 'infiniband' AND (%(fabric)s::int IS NULL OR f.fabric_id = %(fabric)s)
    ), owned AS (
        SELECT p.port, a.* FROM port p JOIN adapter a ON host_of(a.node) = host_of(p.host) AND coalesce(a.number, p.number) = p.number
        UNION SELECT p.port, a.* FROM port p JOIN adapter a ON ltrim(lower(a.guid), '0') = p.guid AND coalesce(a.number, p.number) = p.number
        UNION SELECT p.port, a.* FROM port p JOIN adapter a ON ltrim(lower(a.own_guid), '0') = p.guid AND coalesce(a.number, p.number) = p.number
    )
    SELECT p.port, r.fabric_id, r.router, NULL::int AS endpoint, NULL AS node, NULL AS adapter FROM port p JOIN router r ON ltrim(lower(r.guid), '0') = p.guid
    WHERE %(fabric)s::int IS NULL OR r.fabric_id = %(fabric)s
    UNION ALL SELECT port, fabric_id, NULL, endpoint, node, adapter FROM owned
"""

# One direction of each cable is listed, from the vertex with the higher number; endpoints have higher numbers than routers.
_CABLES = """
    WITH kind AS (
        SELECT * FROM unnest(%(fabrics)s::int[], %(classes)s::text[], %(nodes)s::bool[], %(limits)s::float8[], %(usual)s::float8[])
            AS k (fabric_id, class, node, limit_bps, usual_bps)
    ), flap AS (
        SELECT s.fabric_id, s.link, max(x.downs) AS downs, max(x.recoveries) AS recoveries, max(x.speed_changes) AS speed_changes
        FROM unnest(%(of)s::int[], %(routers)s::int[], %(numbers)s::int[], %(ends)s::int[], %(downs)s::int[], %(recoveries)s::int[], %(changes)s::int[])
            AS x (fabric_id, router, port, endpoint, downs, recoveries, speed_changes)
        JOIN link s ON s.fabric_id = x.fabric_id AND (
            (s.src_router, s.src_port) = (x.router, x.port) OR (s.dst_router, s.dst_port) = (x.router, x.port) OR x.endpoint IN (s.src_endpoint, s.dst_endpoint)
        ) GROUP BY 1, 2
    ), chosen AS (
        SELECT s.fabric_id, s.link FROM kind k JOIN link s ON s.fabric_id = k.fabric_id AND s.class IS NOT DISTINCT FROM k.class
            AND (s.src_endpoint IS NOT NULL OR s.dst_endpoint IS NOT NULL) = k.node AND s.bandwidth_bps <= k.limit_bps
        UNION SELECT fabric_id, link FROM flap
    )
    SELECT f.name AS fabric, f.simulated, extract(epoch FROM f.created_at)::float8 AS since_s, s.link, s.class AS link_class,
           coalesce(a.name, ae.node) AS src_name, s.src_port, coalesce(b.name, be.node) AS dst_name, s.dst_port, s.bandwidth_bps, k.usual_bps,
           coalesce(s.bandwidth_bps <= k.limit_bps, false) AS slow, x.link IS NOT NULL AS flapping, x.downs AS link_downs, x.recoveries AS link_recoveries, x.speed_changes AS link_speed_changes
    FROM chosen c JOIN link s USING (fabric_id, link) JOIN fabric f USING (fabric_id)
    LEFT JOIN kind k ON k.fabric_id = s.fabric_id AND k.class IS NOT DISTINCT FROM s.class
        AND k.node = (s.src_endpoint IS NOT NULL OR s.dst_endpoint IS NOT NULL)
    LEFT JOIN flap x ON (x.fabric_id, x.link) = (s.fabric_id, s.link)
    LEFT JOIN router a ON (a.fabric_id, a.router) = (s.fabric_id, s.src_router) LEFT JOIN router b ON (b.fabric_id, b.router) = (s.fabric_id, s.dst_router)
    LEFT JOIN endpoint ae ON (ae.fabric_id, ae.endpoint) = (s.fabric_id, s.src_endpoint)
    LEFT JOIN endpoint be ON (be.fabric_id, be.endpoint) = (s.fabric_id, s.dst_endpoint)
    WHERE s.src_endpoint IS NOT NULL OR s.src_router > s.dst_router
    ORDER BY s.bandwidth_bps / k.usual_bps, x.downs DESC NULLS LAST, f.name, s.link LIMIT %(most)s
"""


async def list_slow_cables(conn: Connection, fabric_id: int | None = None) -> list[Row]:
    """List the slow and the flapping cables of a fabric, or of all, the slowest relative to its kind first.

    Each is {fabric, simulated, since_s, link, link_class, src_name, src_port, dst_name, dst_port, bandwidth_bps, usual_bps, slow, flapping, link_downs,
    link_recoveries, link_speed_changes, condition}; the three counts, of the last day, are None if the link does not flap.
    """
    which = {"fabric": fabric_id}
    async with conn.cursor() as cursor, conn.cursor(row_factory=dict_row) as cables:
        speeds = await (await cursor.execute(_SPEEDS, which)).fetchall()
        flapping = _list_flapping(await (await cursor.execute(_FAILURES)).fetchall())
        places = await (await cursor.execute(_PORTS, _parse_ports(flapping) | which)).fetchall() if flapping else []
        return _describe_cables(
            await (await cables.execute(_CABLES, _judge_cables(speeds, flapping, places))).fetchall()
        )


def read_slow_cables(conn: psycopg.Connection[Any]) -> list[Row]:
    """Read the slow and the flapping cables of all fabrics, as `list_slow_cables`."""
    which = {"fabric": None}
    with conn.cursor() as cursor, conn.cursor(row_factory=dict_row) as cables:
        speeds = cursor.execute(_SPEEDS, which).fetchall()
        flapping = _list_flapping(cursor.execute(_FAILURES).fetchall())
        places = cursor.execute(_PORTS, _parse_ports(flapping) | which).fetchall() if flapping else []
        return _describe_cables(cables.execute(_CABLES, _judge_cables(speeds, flapping, places)).fetchall())


#: Counts of a port in the last day: link down, recovered, speed changed.
_Counts = tuple[int, int, int]


def _list_flapping(failures: Iterable[tuple[Any, ...]]) -> dict[str, _Counts]:
    return {
        port: (downs, recoveries, changes)
        for port, downs, recoveries, changes in failures
        if is_flapping(downs, recoveries, changes)
    }


def _parse_ports(flapping: Iterable[str]) -> Row:
    """Return the parameters of `_PORTS`."""
    parts = [(port, port.split("/")) for port in flapping]
    named = [(port, None if len(of) > 2 else of[0], of[0] if len(of) > 2 else None, int(of[-1])) for port, of in parts]
    return _to_columns(("ports", "guids", "hosts", "numbers"), named)


def _judge_cables(
    speeds: Iterable[tuple[Any, ...]], flapping: dict[str, _Counts], places: Iterable[tuple[Any, ...]]
) -> Row:
    """Return the parameters of `_CABLES`: the limit of each kind, and the ports that flap."""
    kinds = [(*kind, *find_slow_limit(values, counts)) for *kind, values, counts in speeds]
    flaps = []
    for (port, fabric_id), some in groupby(sorted(places, key=itemgetter(0, 1)), itemgetter(0, 1)):
        ends = list(some)
        host, *rest = port.split("/")
        if len(rest) > 1:
            ends = _find_adapter(ends, host, rest[0])
        flaps += [
            (fabric_id, router, int(rest[-1]), endpoint, *flapping[port]) for _, _, router, endpoint, _, _ in ends
        ]
    return {
        **_to_columns(("fabrics", "classes", "nodes", "limits", "usual"), kinds),
        **_to_columns(("of", "routers", "numbers", "ends", "downs", "recoveries", "changes"), flaps),
        "most": MOST_LISTED,
    }


def _find_adapter(ends: list[tuple[Any, ...]], host: str, adapter: str) -> list[tuple[Any, ...]]:
    """Return the endpoint of a host's adapter among those of hosts with similar names; an empty list if it is none or not unique."""
    node = find_host(host, (row[4] for row in ends))
    own = [row for row in ends if node is not None and row[4].lower() == node.lower()]
    named = [row for row in own if is_same_adapter(row[5], adapter)] if any(row[5] for row in own) else own
    return named if len(named) == 1 else []


def _describe_cables(rows: list[Row]) -> list[Row]:
    for row in rows:
        row["condition"] = describe_condition(
            row["bandwidth_bps"],
            row["usual_bps"] if row["slow"] else None,
            (row["link_downs"], row["link_recoveries"], row["link_speed_changes"]) if row["flapping"] else None,
        )
    return rows


def _to_columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Row:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    return dict(zip(names, columns, strict=True))
