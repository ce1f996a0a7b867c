"""Route changes: the compared pairs of dumps, for any order of arrival."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from support.databases import list_events_since

from flitwatch_db import connect
from flitwatch_db.fabrics import route_changes
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain import generators

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def stored(conn, fabric_id: int) -> list[tuple[datetime, int | None, int | None, str | None]]:
    rows = conn.execute(
        "SELECT ts, entries, changed, note FROM route_change WHERE fabric_id = %s ORDER BY ts", [fabric_id]
    )
    return rows.fetchall()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_each_change_counts_the_entries_that_differ_from_the_tables_before(
    embedded_db: str, order: tuple[int, ...]
) -> None:
    random = np.random.default_rng(7)
    first = random.integers(-1, 36, (6, 20))
    second = first.copy()
    second[2, 3:8] = first[2, 3:8] + 1
    third = second.copy()
    third[0, :2] = second[0, :2] + 1
    tables = [first, second, third]
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, generators.build_torus((2, 2, 2)))
        for i in order:
            assert route_changes.record_change(conn, fabric_id, T0 + i * HOUR, tables[i]).new
        entries = [int((one >= 0).sum()) for one in tables]
        assert [row[1:3] for row in stored(conn, fabric_id)] == list(zip(entries, [None, 5, 2], strict=True))
        times = [e.payload["ts"] for e in list_events_since(conn, 0) if e.kind == "routes"]
        assert times == [(T0 + i * HOUR).isoformat() for i in order]


def test_the_same_tables_again_leave_no_mark_but_a_note_does(embedded_db: str) -> None:
    tables = np.arange(12).reshape(3, 4) - 1
    with connect(embedded_db, role="writer") as conn:
        fabric_id = fabrics.save_fabric(conn, generators.build_torus((2, 2, 2)))
        route_changes.record_change(conn, fabric_id, T0, tables)
        for moment in (T0, T0 + HOUR):
            again = route_changes.record_change(conn, fabric_id, moment, tables)
            assert (again.new, again.ts, again.changed) == (False, T0, 0)
        assert route_changes.record_change(conn, fabric_id, T0 + HOUR, None, "ADAPTIVE_3 is the default").new
        # A note between two dumps is no table to compare with.
        assert route_changes.record_change(conn, fabric_id, T0 + 2 * HOUR, tables + 1).changed == 12
        assert [row[1:] for row in stored(conn, fabric_id)] == [
            (11, None, None),
            (None, None, "ADAPTIVE_3 is the default"),
            (12, 12, None),
        ]


def test_a_fabric_with_other_numbers_forgets_its_tables_and_keeps_its_marks(embedded_db: str) -> None:
    tables = np.ones((3, 4), dtype=int)
    with connect(embedded_db, role="writer") as conn:
        fabric = generators.build_torus((2, 2, 2))
        fabric_id = fabrics.save_fabric(conn, fabric)
        route_changes.record_change(conn, fabric_id, T0, tables)
        route_changes.record_change(conn, fabric_id, T0 + HOUR, tables * 2)
        fabrics.save_fabric(conn, replace(generators.build_torus((2, 2, 3)), name=fabric.name), replace=True)
        later = route_changes.record_change(conn, fabric_id, T0 + 2 * HOUR, np.ones((4, 4), dtype=int))
        assert (later.new, later.changed) == (True, None)
        assert [row[2] for row in stored(conn, fabric_id)] == [None, 12, None]
