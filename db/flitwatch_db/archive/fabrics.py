"""Fabrics of an archive, identified by a digest of their structure, so that a job is linked to exactly the fabric on which it ran."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.types.json import Jsonb

from flitwatch_db.archive.folder import FABRIC, Folder
from flitwatch_db.archive.parts import Part
from flitwatch_db.archive.shapes import FABRIC_SHAPES
from flitwatch_domain.errors import BadInput

Conn = psycopg.Connection[Any]

#: Columns that identify a fabric; attributes and sources may change.
_STRUCTURE = {
    "fabric": ("kind", "technology", "simulated", "counted_at", "timeless"),
    "router": ("router", "name", "guid", "group_id", "row", "col", "level", "coords"),
    "endpoint": ("endpoint", "router", "port", "node", "nid", "component_id", "role", "guid"),
    "link": tuple(column.name for column in FABRIC_SHAPES["link"].columns),
}


def compute_fabric_digest(conn: Conn, fabric_id: int, name: str | None = None) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of a fabric's structure and its name, or the given name instead."""
    if name is None:
        row = conn.execute("SELECT name FROM fabric WHERE fabric_id = %s", [fabric_id]).fetchone()
        assert row is not None
        name = str(row[0])
    whole = hashlib.sha256(f"{name}\n".encode())
    for table, columns in _STRUCTURE.items():
        order = "fabric_id" if table == "fabric" else table
        row = conn.execute(
            sql.SQL(
                "SELECT encode(sha256(convert_to(coalesce(string_agg(ROW({})::text, E'\\n' ORDER BY {}), ''), 'UTF8')), 'hex') FROM {} WHERE fabric_id = %s"
            ).format(sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(order), sql.Identifier(table)),
            [fabric_id],
        ).fetchone()
        assert row is not None
        whole.update(f"{table} {row[0]}\n".encode())
    return whole.hexdigest()[:32]


def archive_fabric(conn: Conn, folder: Folder, fabric_id: int, named: str, made_at: str, code_version: str) -> None:
    with folder.write(
        f"fabrics/{named}", {"made_at": made_at, "code_version": code_version, "format": FABRIC, "digest": named}
    ) as writer:
        for shape in FABRIC_SHAPES.values():
            columns = [
                sql.SQL("{}::text").format(sql.Identifier(c.name)) if c.type == "json" else sql.Identifier(c.name)
                for c in shape.columns
            ]
            query = sql.SQL("SELECT {} FROM {} WHERE fabric_id = %s ORDER BY 1").format(
                sql.SQL(", ").join(columns), sql.Identifier(shape.name)
            )
            rows = conn.execute(query, [fabric_id]).fetchall()
            arrays = zip(*rows, strict=True) if rows else [[] for _ in shape.columns]
            writer.write(
                shape,
                [
                    pa.record_batch(
                        [pa.array(v, c.arrow) for c, v in zip(shape.columns, arrays, strict=True)], shape.schema
                    )
                ],
            )
        writer.commit()


def restore_fabric(conn: Conn, part: Part) -> tuple[int, dict[str, int], bool]:
    """Find an archived fabric in the database, or write it there.

    A fabric of the same name with another structure is kept; then the archived one gets its digest as part of its name.

    Returns
    -------
    int, dict, bool
        The fabric's id; its numbers of routers and endpoints; whether it was written.

    Raises
    ------
    BadInput
        A file is inconsistent; the message names it.
    """
    part.verify()
    heads = part.rows("fabric")
    if len(heads) != 1:
        raise BadInput(f"{len(heads)} rows, expected one fabric", where=f"{part.shown}/fabric.parquet")
    sizes = {table: part.manifest["files"][table]["rows"] for table in ("router", "endpoint")}
    expected_digest = part.place.name
    names = (heads[0]["name"], f"{heads[0]['name']} (archived {expected_digest[:8]})")
    fabric_ids = dict(conn.execute("SELECT name, fabric_id FROM fabric WHERE name = ANY(%s)", [list(names)]).fetchall())
    for fabric_id in fabric_ids.values():
        if compute_fabric_digest(conn, fabric_id, names[0]) == expected_digest:
            return fabric_id, sizes, False
    free = next((name for name in names if name not in fabric_ids), None)
    if free is None:
        raise BadInput(f"the database has other fabrics named {names[0]!r} and {names[1]!r}", where=part.shown)
    fabric_id = _insert_fabric(conn, part, heads[0] | {"name": free})
    if compute_fabric_digest(conn, fabric_id, names[0]) != expected_digest:
        raise BadInput("the routers, endpoints and links are not those of its digest", where=part.shown)
    return fabric_id, sizes, True


def _insert_fabric(conn: Conn, part: Part, head: dict[str, Any]) -> int:
    try:
        head["attributes"] = Jsonb(json.loads(head["attributes"]))
        row = conn.execute(
            sql.SQL("INSERT INTO fabric ({}) VALUES ({}) RETURNING fabric_id").format(
                sql.SQL(", ").join(map(sql.Identifier, head)), sql.SQL(", ").join(map(sql.Placeholder, head))
            ),
            head,
        ).fetchone()
        assert row is not None
        for table in ("router", "endpoint", "link"):
            columns = part.shapes[table].columns
            names = sql.SQL(", ").join(sql.Identifier(column.name) for column in columns)
            with conn.cursor() as cursor:
                copy_in = sql.SQL("COPY {} (fabric_id, {}) FROM STDIN (FORMAT binary)").format(
                    sql.Identifier(table), names
                )
                with cursor.copy(copy_in) as copy:
                    copy.set_types(["int4", *(column.postgres for column in columns)])
                    for batch in part.read(table):
                        values = [
                            [Jsonb(json.loads(v)) for v in array.to_pylist()]
                            if column.type == "json"
                            else array.to_pylist()
                            for column, array in zip(columns, batch.columns, strict=True)
                        ]
                        for cells in zip(*values, strict=True):
                            copy.write_row((row[0], *cells))
    except (psycopg.DataError, psycopg.IntegrityError, ValueError, RecursionError) as problem:
        raise BadInput(f"the database refuses it: {str(problem).splitlines()[0]}", where=part.shown) from None
    return int(row[0])
