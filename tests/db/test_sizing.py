"""What `flitwatch doctor --size` computes, against tables that were written."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from flitwatch_db import connect
from flitwatch_db.counters import rollups, store
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput
from flitwatch_ops import sizing, sizing_page

BEGIN_S = 1_790_000_000 // 86_400 * 86_400
DEVICES, MINUTES = 300, 100


def device_rows(columns: int) -> store.Rows:
    ts_s = np.repeat(BEGIN_S + 60 * np.arange(MINUTES, dtype=np.int64), DEVICES)
    device = np.tile(np.arange(DEVICES, dtype=np.int32), MINUTES)
    n = len(device)
    values = np.random.default_rng(1).integers(0, 10**8, (n, columns)).astype(np.float64)
    return store.Rows(np.ones(n, np.int32), device, ts_s, np.ones(n, np.int32), np.ones(n), values)


def port_rows(ports: int, day: int) -> store.PortRows:
    ts_s = np.repeat(BEGIN_S + day * 86_400 + 10 * np.arange(20, dtype=np.int64), DEVICES)
    device = np.tile(np.arange(DEVICES, dtype=np.int32), 20)
    values = np.random.default_rng(1).integers(0, 10**8, (3, len(device), ports)).astype(np.float64)
    return store.PortRows(np.ones(len(device), np.int32), device, ts_s, np.ones(len(device)), *values)


@pytest.mark.system("numeric")
def test_bytes_a_row_are_those_of_the_tables(embedded_db: str) -> None:
    widths = (16, 48, 64, 128)
    with connect(embedded_db, role="owner") as conn:
        store.write_batch(
            conn,
            store.Batch(
                routers=device_rows(len(ROUTER_COLUMNS)), endpoints=device_rows(len(ENDPOINT_COLUMNS)), ports=None
            ),
        )
        for day, ports in enumerate(widths):
            store.write_batch(conn, store.Batch(ports=port_rows(ports, day)))
    computed = sizing.size_tables(sizing.Site(DEVICES, DEVICES, DEVICES, 1.0))
    with connect(embedded_db, role="owner") as conn:
        found = conn.execute(
            "SELECT inhparent::regclass::text, sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
            " WHERE inhparent::regclass::text ~ '^(router|endpoint)_1[sm]$' GROUP BY 1"
        ).fetchall()
        parts = conn.execute(
            "SELECT pg_total_relation_size(inhrelid) FROM pg_inherits WHERE inhparent = 'port_10s'::regclass ORDER BY inhrelid::regclass::text"
        ).fetchall()
    assert len(found) == 4
    for name, size in found:
        assert computed[name].bytes_a_row == pytest.approx(float(size) / (DEVICES * MINUTES), rel=0.15), name
    *short, (long,) = parts
    # Arrays that long are compressed, by how much depends on what is counted: the arithmetic gives what they take at most.
    assert sizing.port_row_bytes(widths[-1]) > long / (DEVICES * 20)
    for ports, (size,) in zip(widths, short, strict=False):
        assert sizing.port_row_bytes(ports) == pytest.approx(size / (DEVICES * 20), rel=0.15), ports


def test_tables_are_kept_as_the_arithmetic_says(embedded_db: str) -> None:
    with connect(embedded_db, role="owner") as conn:
        rows = conn.execute("SELECT name, keep, compress_after FROM time_table").fetchall()
    kept = {name: (keep, after) for name, keep, after in rows}
    for name in sizing.size_tables(sizing.Site(1, 1, 1, 1.0)):
        expected = (sizing.KEPT | sizing.KEPT_OF_FABRIC)[name.rpartition("_")[2]]
        assert kept[name] == (
            None if expected.days is None else timedelta(days=expected.days),
            timedelta(days=expected.compressed_after_days),
        ), name


def test_bytes_of_a_fabric_are_those_of_its_rows(embedded_db: str) -> None:
    """One day of a machine whose routers are all counted, rolled up."""
    routers = 384
    with connect(embedded_db, role="owner") as conn:
        conn.execute(
            "INSERT INTO fabric (name, kind, technology, counted_at) VALUES ('m', 'dragonfly', 'cray_xc', 'receiver')"
        )
        conn.execute(
            "INSERT INTO router (fabric_id, router, name, attributes) SELECT 1, r, r::text, '{}' FROM generate_series(0, %s) r",
            [routers - 1],
        )
        rows = device_rows(len(ROUTER_COLUMNS))
        device = np.tile(np.arange(routers, dtype=np.int32), 100)
        ts_s = np.repeat(BEGIN_S + 300 * np.arange(100, dtype=np.int64), routers)
        n, one = len(device), np.ones(len(device), np.int32)
        values = np.resize(rows.values, (n, len(ROUTER_COLUMNS)))
        store.write_batch(conn, store.Batch(routers=store.Rows(one, device, ts_s, one, np.ones(n), values)))
    with connect(embedded_db, role="keeper", autocommit=True) as conn:
        rollups.roll_up_hours(conn, settled_s=0)
    with connect(embedded_db, role="owner") as conn:
        (size,) = conn.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'fabric_5m'::regclass"
        ).fetchone() or (0,)
    # Arrays may be compressed, by how much depends on what is counted: the arithmetic gives what they take at most.
    assert 0.4 * sizing.fabric_row_bytes(routers) < float(size) / 100 < 1.15 * sizing.fabric_row_bytes(routers)


def test_slower_samples_make_fewer_seconds_and_as_many_minutes() -> None:
    fast, slow = (sizing.size_tables(sizing.Site(100, 4800, 400, hz)) for hz in (1.0, 0.1))
    assert slow["router_1s"].rows_a_day == pytest.approx(fast["router_1s"].rows_a_day / 10)
    assert slow["router_1m"] == fast["router_1m"] and slow["port_10s"] == fast["port_10s"]
    assert sizing.size_tables(sizing.Site(100, 4800, 400, 10.0))["router_1s"] == fast["router_1s"]
    assert all(table.kept_bytes_compressed <= table.kept_bytes for table in fast.values())


def test_a_site_beyond_one_writer_is_said() -> None:
    assert not sizing.size_site(sizing.site_of("routers=2500,ports=160000,nics=44000,hz=1"))["one_writer"]["fits"]
    assert sizing.size_site(sizing.site_of("routers=3264,ports=156672,nics=13056,hz=1"))["one_writer"]["fits"]


@pytest.mark.parametrize(
    "text",
    ["", "routers=1", "routers=1,ports=1,nics=1,hz=0", "routers=1.5,ports=1,nics=1,hz=1", "routers=0,ports=1,nics=1,hz=1",
     "routers=nan,ports=1,nics=1,hz=1", "routers=1,ports=1,nics=1,hz=inf", "routers=1,ports=1,nics=1,hz=1,more=2", "x"],
)  # fmt: skip
def test_a_size_that_says_nothing_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(BadInput) as bad:
        sizing.site_of(text)
    assert "--size routers=" in (bad.value.advice or "")


def test_the_page_is_the_arithmetics() -> None:
    page = Path(__file__).parents[2] / "docs" / "sizing.md"
    assert page.read_text() == sizing_page.render_page(), "run: make reference"
