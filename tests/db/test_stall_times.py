"""Stalls that were stored in the vendors' units: InfiniBand's are doubled, Ethernet's become unknown, all others stay (ADR 0047)."""

from __future__ import annotations

import psycopg
import pytest

from flitwatch_db.archive.parts import own_counts
from flitwatch_db.archive.restoring import in_times
from flitwatch_db.archive.shapes import IN_OWN_COUNTS, SHAPES
from flitwatch_db.core.connection import connect
from flitwatch_db.migrations import list_migrations

NAME = "2026_11_26_40_stall_times"
HOUR = "2026-11-26 10:00:00+00"
#: Table, column of the device, what holds a stall, and what else a row needs.
ROWS = (
    ("router_1s", "router", "rt_stall_cycles", "3", "samples, tile_seconds", "1, 1"),
    ("router_1m", "router", "rt_stall_cycles", "3", "samples, tile_seconds", "1, 1"),
    ("router_1h", "router", "rt_stall_cycles", "3", "samples, tile_seconds", "1, 1"),
    ("endpoint_1s", "endpoint", "tx_wait_cycles", "3", "samples, seconds", "1, 1"),
    ("endpoint_1m", "endpoint", "tx_wait_cycles", "3", "samples, seconds", "1, 1"),
    ("endpoint_1h", "endpoint", "tx_wait_cycles", "3", "samples, seconds", "1, 1"),
    ("port_10s", "router", "stall_cycles", "'{3,NULL,5}'", "port_seconds", "1"),
    ("router_lane_10s", "router", "stall_cycles", "'{3,NULL,5}'", "port_seconds", "1"),
    ("router_lane_1h", "router", "stall_cycles", "'{3,NULL,5}'", "port_seconds", "1"),
    ("endpoint_lane_10s", "endpoint", "stall_cycles", "'{3,NULL,5}'", "port_seconds", "1"),
    ("endpoint_lane_1h", "endpoint", "stall_cycles", "'{3,NULL,5}'", "port_seconds", "1"),
    ("fabric_5m", "counted", "rt_stall_cycles", "'{3,NULL,5}'", "tile_seconds", "'{1,1,1}'"),
    ("fabric_2h", "counted", "rt_stall_cycles", "'{3,NULL,5}'", "tile_seconds", "'{1,1,1}'"),
    ("fabric_1d", "counted", "rt_stall_cycles", "'{3,NULL,5}'", "tile_seconds", "'{1,1,1}'"),
)


def stored(conn: psycopg.Connection, technology: str) -> int:
    """A fabric with a row in each table."""
    row = conn.execute(
        b"INSERT INTO fabric (name, kind, technology, counted_at) VALUES (%s, 'fat_tree', %s, 'sender') RETURNING fabric_id",
        [technology, technology],
    ).fetchone()
    assert row is not None
    for table, device, stall, value, others, given in ROWS:
        conn.execute("SELECT ensure_chunks(%s, ARRAY[%s]::timestamptz[])", [table, HOUR])
        conn.execute(f"INSERT INTO {table} (fabric_id, {device}, ts, {stall}, {others}) VALUES (%s, 0, %s, {value}, {given})".encode(), [row[0], HOUR])  # fmt: skip
    conn.execute(
        """INSERT INTO gap (fabric_id, device, schema, from_ts, to_ts, reason, counts) VALUES (%s, 'd', 's', %s, %s, 'silence', '{"rt_stall_cycles": 3, "rt_flits": 7}')""",
        [row[0], HOUR, HOUR],
    )
    return int(row[0])


def kept(conn: psycopg.Connection, fabric: int) -> dict[str, object]:
    found = {
        table: conn.execute(f"SELECT {stall} FROM {table} WHERE fabric_id = %s".encode(), [fabric]).fetchone()
        for table, _, stall, *_ in ROWS
    }
    gap = conn.execute("SELECT counts FROM gap WHERE fabric_id = %s", [fabric]).fetchone()
    return {name: row and row[0] for name, row in found.items()} | {"gap": gap and gap[0]}


@pytest.mark.parametrize(
    ("technology", "one", "several", "gap"),
    [
        ("infiniband", 6.0, [6.0, None, 10.0], {"rt_stall_cycles": 6, "rt_flits": 7}),
        ("ethernet", None, [None, None, None], {"rt_flits": 7}),
        ("cray_xc", 3.0, [3.0, None, 5.0], {"rt_stall_cycles": 3, "rt_flits": 7}),
        ("opa", 3.0, [3.0, None, 5.0], {"rt_stall_cycles": 3, "rt_flits": 7}),
    ],
)
def test_what_was_stored_before_is_converted_or_unknown(
    embedded_db: str, technology: str, one: float | None, several: list[float | None], gap: dict[str, int]
) -> None:
    (text,) = (made.text for made in list_migrations() if made.name == NAME)
    with connect(embedded_db, role="owner") as conn:
        fabric = stored(conn, technology)
        conn.execute(text.encode())
        found = kept(conn, fabric)
    assert found.pop("gap") == gap
    assert found == {table: several if value.startswith("'") else one for table, _, _, value, *_ in ROWS}


def test_an_archive_says_whether_its_stalls_are_to_be_converted_and_they_are() -> None:
    """Of an archive in ticks the rows are converted as a database's are; of one that is written today none."""
    for name, stall, value, doubled in (
        ("router_1h", "rt_stall_cycles", 3.0, 6.0),
        ("port_10s", "stall_cycles", [3.0, None], [6.0, None]),
    ):
        shape = SHAPES[name]
        today = shape.schema
        at = today.get_field_index(stall)
        before = today.set(at, today.field(at).with_metadata({"unit": IN_OWN_COUNTS["stall_cycles"]}))
        assert own_counts(today) == frozenset() and own_counts(before) == {stall}
        row = tuple(
            7 if column.type == "fabric" else value if column.name == stall else 1.0 for column in shape.columns
        )
        unknown = [None, None] if isinstance(value, list) else None
        for technology, wanted in (("infiniband", doubled), ("ethernet", unknown), ("cray_xc", value)):
            found = in_times(row, shape, [at], {7: technology})
            assert found[at] == wanted and found[:at] + found[at + 1 :] == row[:at] + row[at + 1 :]
        assert in_times(row, shape, [], {7: "infiniband"}) == row
