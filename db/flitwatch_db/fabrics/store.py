"""Store and load whole fabrics, as arrays with binary COPY."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.rows import class_row
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from flitwatch_db.core import packing
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics.reads import COLUMNS, StoredFabric
from flitwatch_db.jobs import store as jobs
from flitwatch_domain.errors import Conflict, NotFound
from flitwatch_domain.fabric import (
    ROLES,
    CountedAt,
    Endpoints,
    Fabric,
    FabricKind,
    LinkClass,
    Links,
    Routers,
    Technology,
)


@dataclass(frozen=True, slots=True)
class FabricRow(StoredFabric):
    """Row of a fabric, with the sizes of its parts."""

    routers: int
    endpoints: int
    links: int


def save_fabric(conn: psycopg.Connection[Any], fabric: Fabric, replace: bool = False, snapshot: bool = False) -> int:
    """Store a fabric within the caller's transaction; return its id.

    Parameters
    ----------
    replace : bool
        Whether an existing fabric of that name keeps its id and counters and gets these routers, endpoints and links.
    snapshot : bool
        Whether its counters are one sample without a time (`port_total`).

    Raises
    ------
    Conflict
        A fabric of that name exists and `replace` is False.
    """
    values = [
        fabric.name,
        str(fabric.kind),
        str(fabric.technology),
        fabric.simulated,
        str(fabric.counted_at),
        snapshot,
        fabric.source,
        Jsonb(fabric.attributes),
        list(fabric.warnings),
    ]
    with conn.cursor() as cursor:
        cursor.execute(
            "INSERT INTO fabric (name, kind, technology, simulated, counted_at, timeless, source, attributes, warnings)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (name) DO NOTHING RETURNING fabric_id",
            values,
        )
        created = cursor.fetchone()
        replaces = created is None
        if created is None:
            if not replace:
                raise Conflict(
                    f"a fabric named {fabric.name!r} already exists",
                    advice="Choose another name, or replace it (--replace), or remove it: `flitwatch db remove-fabric`.",
                )
            cursor.execute(
                "UPDATE fabric SET kind = %s, technology = %s, simulated = %s, counted_at = %s, timeless = %s, source = %s,"
                " attributes = %s, warnings = %s WHERE name = %s RETURNING fabric_id",
                [*values[1:], values[0]],
            )
            created = cursor.fetchone()
            assert created is not None
            for table in ("router", "endpoint", "link"):
                cursor.execute(f"DELETE FROM {table} WHERE fabric_id = %s", created)  # noqa: S608
            route_changes.forget_tables(conn, int(created[0]))
        fabric_id = int(created[0])
    _copy_routers(conn, fabric_id, fabric.routers)
    _copy_endpoints(conn, fabric_id, fabric.endpoints)
    _copy_links(conn, fabric_id, fabric)
    update_planes(conn, fabric_id)
    jobs.place_unplaced(conn, fabric_id)
    if replaces:
        jobs.place_running(conn, fabric_id)
    return fabric_id


def add_attributes(conn: psycopg.Connection[Any], fabric_id: int, attributes: dict[str, Any]) -> None:
    """Add attributes to a stored fabric; place jobs again if this makes it a plane of another."""
    changed = conn.execute(
        "UPDATE fabric SET attributes = attributes || %(new)s WHERE fabric_id = %(fabric)s AND attributes <> attributes || %(new)s",
        {"new": Jsonb(attributes), "fabric": fabric_id},
    ).rowcount
    if changed:
        update_planes(conn, fabric_id)
        jobs.place_unplaced(conn, fabric_id)


def _copy_blocks(conn: psycopg.Connection[Any], into: LiteralString, *blocks: packing.Block) -> None:
    if not len(blocks[0].bytes):
        return
    with conn.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN (FORMAT binary)") as copy:
        copy.write(packing.pack_rows(*blocks, columns=len(blocks)))


def _pack_known(values: NDArray[Any], pack: Callable[..., packing.Block] = packing.pack_int4) -> packing.Block:
    return pack(values, null=values < 0)


def _copy_routers(conn: psycopg.Connection[Any], fabric_id: int, routers: Routers) -> None:
    n = len(routers)
    _copy_blocks(
        conn,
        'router (fabric_id, router, name, guid, group_id, "row", col, level, coords)',
        packing.pack_int4(np.full(n, fabric_id)),
        packing.pack_int4(np.arange(n)),
        packing.pack_text(routers.name),
        packing.pack_text(routers.guid),
        _pack_known(routers.group),
        _pack_known(routers.row),
        _pack_known(routers.col),
        _pack_known(routers.level),
        packing.int4_array(routers.coords if routers.coords.shape[1] else None, n),
    )


def _copy_endpoints(conn: psycopg.Connection[Any], fabric_id: int, endpoints: Endpoints) -> None:
    n = len(endpoints)
    _copy_blocks(
        conn,
        "endpoint (fabric_id, endpoint, router, port, node, nid, component_id, role, guid)",
        packing.pack_int4(np.full(n, fabric_id)),
        packing.pack_int4(np.arange(n)),
        packing.pack_int4(endpoints.router),
        _pack_known(endpoints.port),
        packing.pack_text(endpoints.node),
        _pack_known(endpoints.nid, packing.pack_int8),
        _pack_known(endpoints.component_id, packing.pack_int8),
        packing.pack_text(endpoints.role_names),
        packing.pack_text(endpoints.guid),
    )


def _copy_links(conn: psycopg.Connection[Any], fabric_id: int, fabric: Fabric) -> None:
    links, routers = fabric.links, len(fabric.routers)
    n = len(links)
    ends = []
    for vertex in (links.src, links.dst):
        ends.append(
            (
                _pack_known(np.where(vertex < routers, vertex, -1)),
                _pack_known(np.where(vertex < routers, -1, vertex - routers)),
            )
        )
    _copy_blocks(
        conn,
        "link (fabric_id, link, src_router, src_port, dst_router, dst_port, src_endpoint, dst_endpoint, class, bandwidth_bps, multiplicity)",
        packing.pack_int4(np.full(n, fabric_id)),
        packing.pack_int4(np.arange(n)),
        ends[0][0],
        _pack_known(links.src_port),
        ends[1][0],
        _pack_known(links.dst_port),
        ends[0][1],
        ends[1][1],
        packing.pack_text(links.class_names),
        packing.pack_float8(links.bandwidth_bps),
        packing.pack_int4(links.multiplicity),
    )


_ROWS = SQL("""
    SELECT {},
           (SELECT count(*) FROM router r WHERE r.fabric_id = f.fabric_id) AS routers,
           (SELECT count(*) FROM endpoint e WHERE e.fabric_id = f.fabric_id) AS endpoints,
           (SELECT count(*) FROM link l WHERE l.fabric_id = f.fabric_id) AS links
    FROM fabric f
""").format(COLUMNS)


def list_all(conn: psycopg.Connection[Any]) -> list[FabricRow]:
    """Return all fabrics in order of creation."""
    with conn.cursor(row_factory=class_row(FabricRow)) as cursor:
        return cursor.execute(_ROWS + SQL(" ORDER BY fabric_id")).fetchall()


def list_versions(conn: psycopg.Connection[Any]) -> dict[int, str]:
    """Return a text by fabric that changes when the fabric is stored again: another topology can have the same sizes."""
    return dict(conn.execute("SELECT fabric_id, xmin::text FROM fabric").fetchall())


def get_fabric_row(conn: psycopg.Connection[Any], name_or_id: str | int) -> FabricRow:
    """Return a fabric's row by name or id (a name of digits is tried as an id last). Raise NotFound if the fabric does not exist; the message lists
    the existing ones."""
    text = str(name_or_id)
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    with conn.cursor(row_factory=class_row(FabricRow)) as cursor:
        fabric_row = None
        if not isinstance(name_or_id, int):
            fabric_row = cursor.execute(_ROWS + SQL(" WHERE name = %s"), [text]).fetchone()
        if fabric_row is None and number is not None:
            fabric_row = cursor.execute(_ROWS + SQL(" WHERE fabric_id = %s"), [number]).fetchone()
    if fabric_row is None:
        names = ", ".join(row.name for row in list_all(conn)[:10]) or "none"
        raise NotFound(f"no fabric {name_or_id!r}", advice=f"Known: {names}.")
    return fabric_row


def held_fast(conn: psycopg.Connection[Any], fabric_ids: Iterable[int]) -> set[int]:
    """Lock the given fabrics until the caller's transaction ends; return those that exist."""
    ids = sorted(set(fabric_ids))
    if not ids:
        return set()
    cursor = conn.execute("SELECT fabric_id FROM fabric WHERE fabric_id = ANY(%s) ORDER BY 1 FOR KEY SHARE", [ids])
    return {int(row[0]) for row in cursor}


def sharing_switches(conn: psycopg.Connection[Any], fabric_id: int) -> list[str]:
    """Return names of other fabrics that contain a switch of this one, by GUID, except snapshots, which counters do not use."""
    return [
        row[0]
        for row in conn.execute(
            "SELECT DISTINCT o.name FROM router mine JOIN router theirs ON theirs.guid = mine.guid AND theirs.fabric_id <> mine.fabric_id"
            " JOIN fabric o ON o.fabric_id = theirs.fabric_id JOIN fabric m ON m.fabric_id = mine.fabric_id"
            " WHERE mine.fabric_id = %s AND NOT o.timeless AND NOT m.timeless ORDER BY 1",
            [fabric_id],
        ).fetchall()
    ]


def load_fabric(conn: psycopg.Connection[Any], name_or_id: str | int) -> Fabric:
    """Read a whole fabric, unchanged. Raise NotFound if there is no fabric with that name or id."""
    row = get_fabric_row(conn, name_or_id)
    return Fabric(
        name=row.name,
        kind=FabricKind(row.kind),
        technology=Technology(row.technology),
        routers=_load_routers(conn, row.fabric_id),
        endpoints=_load_endpoints(conn, row.fabric_id),
        links=_load_links(conn, row.fabric_id, row.routers),
        simulated=row.simulated,
        counted_at=CountedAt(row.counted_at),
        source=row.source,
        attributes=row.attributes,
        warnings=tuple(row.warnings),
    )


def _fetch_columns(conn: psycopg.Connection[Any], query: LiteralString, fabric_id: int) -> tuple[Any, ...]:
    """Fetch one row of whole columns: `array_send` returns integers and floats as bytes, without an object per value."""
    row: tuple[Any, ...] | None = conn.execute(query, [fabric_id], binary=True).fetchone()
    assert row is not None
    return row


def _load_routers(conn: psycopg.Connection[Any], fabric_id: int) -> Routers:
    name, guid, group, row, col, level, coords = _fetch_columns(
        conn,
        "SELECT array_agg(name ORDER BY router), array_agg(guid ORDER BY router), array_send(array_agg(coalesce(group_id, -1) ORDER BY router)),"
        ' array_send(array_agg(coalesce("row", -1) ORDER BY router)), array_send(array_agg(coalesce(col, -1) ORDER BY router)),'
        " array_send(array_agg(coalesce(level, -1) ORDER BY router)), array_agg(coords ORDER BY router) FILTER (WHERE coords IS NOT NULL)"
        " FROM router WHERE fabric_id = %s",
        fabric_id,
    )
    places = {
        key: packing.unpack_numbers(raw, ">i4")
        for key, raw in (("group", group), ("row", row), ("col", col), ("level", level))
    }
    return Routers(name or [], guid=guid or [], coords=coords, **places)


def _load_endpoints(conn: psycopg.Connection[Any], fabric_id: int) -> Endpoints:
    router, port, node, nid, component_id, role, guid = _fetch_columns(
        conn,
        "SELECT array_send(array_agg(router ORDER BY endpoint)), array_send(array_agg(coalesce(port, -1) ORDER BY endpoint)),"
        " array_agg(node ORDER BY endpoint), array_send(array_agg(coalesce(nid, -1) ORDER BY endpoint)),"
        " array_send(array_agg(coalesce(component_id, -1) ORDER BY endpoint)), array_agg(role ORDER BY endpoint),"
        " array_agg(guid ORDER BY endpoint) FROM endpoint WHERE fabric_id = %s",
        fabric_id,
    )
    codes = {str(node_role): code for code, node_role in enumerate(ROLES)}
    return Endpoints(
        packing.unpack_numbers(router, ">i4"),
        port=packing.unpack_numbers(port, ">i4"),
        node=node or [],
        nid=packing.unpack_numbers(nid, ">i8"),
        component_id=packing.unpack_numbers(component_id, ">i8"),
        role=[codes[r] for r in role or []],
        guid=guid or [],
    )


def _load_links(conn: psycopg.Connection[Any], fabric_id: int, routers: int) -> Links:
    rows = conn.execute("SELECT DISTINCT class FROM link WHERE fabric_id = %s ORDER BY 1", [fabric_id]).fetchall()
    classes = [row[0] for row in rows] or [str(LinkClass.LINK)]
    row = conn.execute(
        "SELECT array_send(array_agg(coalesce(src_router, %(r)s + src_endpoint) ORDER BY link)),"
        " array_send(array_agg(coalesce(dst_router, %(r)s + dst_endpoint) ORDER BY link)),"
        " array_send(array_agg(coalesce(src_port, -1) ORDER BY link)), array_send(array_agg(coalesce(dst_port, -1) ORDER BY link)),"
        " array_send(array_agg(array_position(%(c)s::text[], class) - 1 ORDER BY link)),"
        " array_send(array_agg(coalesce(bandwidth_bps, 'NaN') ORDER BY link)), array_send(array_agg(multiplicity ORDER BY link))"
        " FROM link WHERE fabric_id = %(f)s",
        {"r": routers, "c": classes, "f": fabric_id},
        binary=True,
    ).fetchone()
    assert row is not None
    src, dst, src_port, dst_port, code, bandwidth, multiplicity = row
    return Links(
        packing.unpack_numbers(src, ">i4"),
        packing.unpack_numbers(dst, ">i4"),
        src_port=packing.unpack_numbers(src_port, ">i4"),
        dst_port=packing.unpack_numbers(dst_port, ">i4"),
        link_class=packing.unpack_numbers(code, ">i4"),
        bandwidth_bps=packing.unpack_numbers(bandwidth, ">f8"),
        multiplicity=packing.unpack_numbers(multiplicity, ">i4"),
        classes=classes,
    )


_PLANES = """
    WITH ends AS (
        SELECT e.fabric_id, e.node, e.guid, f.attributes -> 'adapters' ->> e.endpoint AS adapter,
               f.attributes -> 'adapter_guids' ->> e.endpoint AS owner
        FROM endpoint e JOIN fabric f USING (fabric_id)
        WHERE f.technology = (SELECT technology FROM fabric WHERE fabric_id = %(fabric)s) AND f.technology <> 'cray_xc' AND e.role <> 'service'
          AND f.simulated = (SELECT simulated FROM fabric WHERE fabric_id = %(fabric)s)
    ), met AS (
        SELECT o.fabric_id,
               bool_or(m.guid = o.guid) AS again,
               bool_and(m.adapter IS NOT NULL AND o.adapter IS NOT NULL AND m.guid IS NOT NULL AND o.guid IS NOT NULL) AS known,
               bool_or(m.adapter = o.adapter AND m.owner IS DISTINCT FROM o.owner) AS clash
        FROM ends m JOIN ends o ON o.node = m.node AND o.fabric_id <> m.fabric_id
        WHERE m.fabric_id = %(fabric)s GROUP BY 1
    )
    SELECT met.fabric_id FROM met JOIN fabric o USING (fabric_id) JOIN fabric m ON m.fabric_id = %(fabric)s
    WHERE NOT coalesce(again, false) AND CASE
        WHEN o.attributes ->> 'cluster' IS NOT NULL AND m.attributes ->> 'cluster' IS NOT NULL
        THEN o.attributes ->> 'cluster' = m.attributes ->> 'cluster'
        ELSE known AND NOT coalesce(clash, false) END
"""


def update_planes(conn: psycopg.Connection[Any], fabric_id: int) -> list[int]:
    """Determine a fabric's planes and store them; return their numbers. Planes have endpoints in the same nodes, so that a job on one of them is on all.

    Two fabrics are planes of one machine if both have the same cluster. They also are planes if nodes of the same name contain different adapters in
    each, and each adapter's name is unique. If both contain the same GUID, they are not planes but one fabric imported twice. If neither has adapters'
    owners (a Cray's, a generated fabric's), equal names of nodes are not evidence, and nothing is assumed.
    """
    conn.execute("DELETE FROM fabric_plane WHERE %(fabric)s IN (fabric_id, other_id)", {"fabric": fabric_id})
    others = sorted(row[0] for row in conn.execute(_PLANES, {"fabric": fabric_id}).fetchall())
    for other in others:
        conn.execute(
            "INSERT INTO fabric_plane (fabric_id, other_id) VALUES (%(one)s, %(two)s), (%(two)s, %(one)s)",
            {"one": fabric_id, "two": other},
        )
    return others
