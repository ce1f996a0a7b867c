"""Rows of a whole fabric are the sums of its routers' rows, for any content and order of writes and rollups."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import list_events_since

from flitwatch_db import async_pool, connect
from flitwatch_db.core import events, log_keep
from flitwatch_db.core.logins import url_for
from flitwatch_db.core.maintenance import load_database_status, maintain_database, set_keep
from flitwatch_db.counters import reads, rollups, store
from flitwatch_db.counters.rollups import TABLES, roll_up_hours
from flitwatch_db.counters.store import Batch, Rows, write_batch
from flitwatch_db.fabrics import store as fabrics
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.generators import build_dragonfly
from flitwatch_ops import sizing, sizing_page
from flitwatch_stream.log import Log, TopicPartition

NAMES = ("tile_seconds", "rt_flits", "blue_stall_cycles")

AT = {name: ROUTER_COLUMNS.index(name) for name in NAMES[1:]}

#: Clocks of Europe and America change, a leap day, and the last second of a year.
ODD_TIMES = [
    int(datetime(*parts, tzinfo=UTC).timestamp())
    for parts in ((2026, 3, 29, 0, 59, 59), (2026, 10, 25, 1, 0), (2026, 3, 8, 7, 0), (2024, 2, 29, 23, 59, 58), (2025, 12, 31, 23, 59, 59))
]  # fmt: skip

SIZE = 8


def planted(url: str) -> int:
    with connect(url, role="writer") as conn:
        return fabrics.save_fabric(
            conn, build_dragonfly(2, 2, 2, endpoints_per_router=1, blue_routers=2, name="rolled")
        )


def write(url: str, fabric_id: int, entries: list[tuple[int, int]], values: list[float]) -> None:
    """Entries are (router, second); values are those of `rt_flits` and `blue_stall_cycles`, NaN is unknown."""
    with connect(url, role="writer") as conn:
        write_batch(conn, batch(fabric_id, entries, values))


def batch(fabric_id: int, entries: list[tuple[int, int]], values: list[float]) -> Batch:
    n = len(entries)
    cells = np.full((n, len(ROUTER_COLUMNS)), np.nan)
    cells[:, list(AT.values())] = np.array(values, dtype=float).reshape(n, 2)
    router, ts = np.array(entries, dtype=np.int64).T
    return Batch(
        routers=Rows(np.full(n, fabric_id, np.int32), router.astype(np.int32), ts, np.ones(n, np.int32), np.full(n, 40.0), cells)
    )  # fmt: skip


def roll_now(url: str) -> int:
    with connect(url, role="keeper", autocommit=True) as conn:
        return roll_up_hours(conn, settled_s=0)


def summed(url: str, fabric_id: int, width: int) -> dict[int, np.ndarray]:
    """What the routers' seconds say: float64[names, SIZE] by bucket."""
    out: dict[int, np.ndarray] = {}
    with connect(url, role="reader") as conn:
        query = f"SELECT extract(epoch FROM ts)::bigint, router, {', '.join(NAMES)} FROM router_1s WHERE fabric_id = %s"
        for ts, router, *row in conn.execute(query.encode(), [fabric_id]):
            cell = out.setdefault(ts // width * width, np.full((len(NAMES), SIZE), np.nan))
            for i, value in enumerate(row):
                if value is not None:
                    cell[i, router] = np.nansum([cell[i, router], value])
    return out


def read(url: str, fabric_id: int, width: int, from_s: int, to_s: int) -> tuple[dict[int, np.ndarray], set[int]]:
    """What readers get of a span: float64[names, SIZE] by bucket, and which of them were due."""

    async def ask() -> tuple[dict[int, np.ndarray], set[int]]:
        async with async_pool(url, role="reader") as pool, pool.connection() as conn:
            found = await reads.fabric_rows(conn, fabric_id, NAMES, from_s, to_s, width)
            out = {}
            for ts, columns in found.values.items():
                out[ts] = np.full((len(NAMES), SIZE), np.nan)
                for i, name in enumerate(NAMES):
                    values = columns[name]
                    if values is not None:
                        out[ts][i, : len(values)] = values
            for ts in found.due_s:
                rows = await reads.router_rows(conn, fabric_id, NAMES, ts, ts + width, width)
                assert ts not in out
                if len(rows["router"]):
                    out[ts] = np.full((len(NAMES), SIZE), np.nan)
                    out[ts][:, rows["router"]] = [rows[name] for name in NAMES]
            return out, set(found.due_s)

    return asyncio.run(ask())


def assert_as_summed(url: str, fabric_id: int) -> None:
    for width in TABLES:
        expected = summed(url, fabric_id, width)
        for at in ODD_TIMES:
            from_s, to_s = (at // 86_400 - 2) * 86_400, (at // 86_400 + 3) * 86_400
            got, _ = read(url, fabric_id, width, from_s, to_s)
            here = {ts: cell for ts, cell in expected.items() if from_s <= ts < to_s}
            assert got.keys() == here.keys()
            for ts, cell in here.items():
                np.testing.assert_array_equal(got[ts], cell)


CELL = st.one_of(st.just(float("nan")), st.integers(-(2**40), 2**52).map(float))

ENTRY = st.tuples(
    st.integers(0, SIZE - 1), st.tuples(st.sampled_from(ODD_TIMES), st.integers(-90_000, 90_000)).map(sum)
)

WRITE = st.lists(st.tuples(ENTRY, CELL, CELL), min_size=1, max_size=8)


@pytest.mark.system("processes")
@given(work=st.lists(st.one_of(st.none(), WRITE), min_size=2, max_size=6))
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_bucket_is_the_sum_of_its_seconds(any_db: str, work: list) -> None:
    """None rolls up, a list is written; clocks that change, leap days and ends of years are days as others."""
    with connect(any_db, role="owner") as conn:
        conn.execute("TRUNCATE router_1s, router_1m, router_1h, fabric_5m, fabric_2h, fabric_1d, rollup_due")
        conn.execute("DELETE FROM fabric")
    fabric_id = planted(any_db)
    for part in [*work, None]:
        if part is None:
            roll_now(any_db)
        else:
            write(any_db, fabric_id, [entry for entry, *_ in part], [v for _, *two in part for v in two])
        assert_as_summed(any_db, fabric_id)
    with connect(any_db, role="reader") as conn:
        assert conn.execute("SELECT count(*) FROM rollup_due").fetchone() == (0,)


def test_what_a_writer_has_not_committed_is_due_when_it_is(embedded_db: str) -> None:
    """A batch whose transaction began before the roll-up and ends after it."""
    fabric_id, at = planted(embedded_db), ODD_TIMES[0]
    write(embedded_db, fabric_id, [(0, at)], [1.0, 2.0])
    with connect(embedded_db, role="writer") as conn:
        write_batch(conn, batch(fabric_id, [(0, at), (1, at)], [10.0, 20.0, 30.0, 40.0]))
        assert roll_now(embedded_db) == 1
        _, due = read(embedded_db, fabric_id, 300, at - 86_400, at)
        assert not due
        conn.commit()
    assert_as_summed(embedded_db, fabric_id)
    _, due = read(embedded_db, fabric_id, 86_400, at // 86_400 * 86_400, at // 86_400 * 86_400 + 86_400)
    assert due == {at // 86_400 * 86_400}
    assert roll_now(embedded_db) == 1
    assert_as_summed(embedded_db, fabric_id)


def test_a_rolled_back_batch_marks_nothing(embedded_db: str) -> None:
    fabric_id = planted(embedded_db)
    with connect(embedded_db, role="writer") as conn:
        write_batch(conn, batch(fabric_id, [(0, ODD_TIMES[0])], [1.0, 2.0]))
        conn.rollback()
    assert roll_now(embedded_db) == 0


def test_hours_that_are_still_written_wait(embedded_db: str) -> None:
    fabric_id = planted(embedded_db)
    write(embedded_db, fabric_id, [(0, ODD_TIMES[0])], [1.0, 2.0])
    assert maintain_database(embedded_db)["rolled_up"] == 0
    with connect(embedded_db, role="owner") as conn:
        conn.execute("UPDATE rollup_due SET marked_at = now() - interval '2 minutes'")
    assert maintain_database(embedded_db)["rolled_up"] == 1
    assert_as_summed(embedded_db, fabric_id)


def test_what_retention_took_from_the_minutes_stays_in_the_sums(embedded_db: str) -> None:
    """A late record, or a restored job, of an hour whose minutes are gone: the sums over more routers stay."""
    fabric_id, at = planted(embedded_db), ODD_TIMES[3]
    write(embedded_db, fabric_id, [(router, at) for router in range(SIZE)], [5.0] * (2 * SIZE))
    roll_now(embedded_db)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("TRUNCATE router_1s, router_1m, router_1h")
    write(embedded_db, fabric_id, [(3, at)], [1.0, 1.0])
    roll_now(embedded_db)
    for width in TABLES:
        got, _ = read(embedded_db, fabric_id, width, at // width * width, at // width * width + width)
        (cell,) = got.values()
        np.testing.assert_array_equal(cell[1], [5.0] * SIZE)


def test_of_two_rolls_at_once_one_does_the_work(embedded_db: str) -> None:
    fabric_id = planted(embedded_db)
    write(embedded_db, fabric_id, [(0, ODD_TIMES[0])], [1.0, 2.0])
    with (
        connect(embedded_db, role="keeper") as first,
        connect(embedded_db, role="owner", autocommit=True) as watching,
        ThreadPoolExecutor(1) as pool,
    ):
        first.execute("DELETE FROM rollup_due")
        second = pool.submit(roll_now, embedded_db)
        while watching.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
        ).fetchone() == (0,):
            assert not second.done()
        first.commit()
        assert second.result() == 0


# Retention: what is old goes, counted from when it was written.


ARCHIVE_S = 1_500_000_000  # July 2017


def write_at(url: str, *times: int) -> None:
    n = len(times)
    one = np.ones(n, np.int32)
    with connect(url, role="writer") as conn:
        write_batch(
            conn, Batch(routers=Rows(one, one, np.array(times), one, np.ones(n), np.ones((n, len(ROUTER_COLUMNS)))))
        )


def hours(url: str) -> list[int]:
    with connect(url, role="reader") as conn:
        return [row[0] for row in conn.execute("SELECT extract(epoch FROM ts)::bigint FROM router_1s ORDER BY ts")]


def age(request: pytest.FixtureRequest, url: str, days: int) -> None:
    """Make the chunk of the archive look as if it had been written so long ago."""
    if "timescale" in request.node.name:
        server = request.getfixturevalue("timescale_server").server
        with psycopg.connect(server.url_of(url.partition("?")[0].rpartition("/")[2], "postgres")) as conn:
            conn.execute(
                "UPDATE _timescaledb_catalog.chunk SET creation_time = now() - make_interval(days => %s) WHERE id IN"
                " (SELECT min(c.id) FROM _timescaledb_catalog.chunk c JOIN _timescaledb_catalog.hypertable h ON h.id = c.hypertable_id"
                " WHERE h.table_name = 'router_1s')",
                [days],
            )
        return
    with connect(url, role="owner") as conn:
        conn.execute(
            "UPDATE time_chunk SET created_at = now() - make_interval(days => %s) WHERE table_name = 'router_1s' AND from_ts < '2018-01-01'",
            [days],
        )


def test_an_imported_archive_is_kept_as_long_as_fresh_data(any_db: str, request: pytest.FixtureRequest) -> None:
    write_at(any_db, ARCHIVE_S)
    write_at(any_db, ARCHIVE_S + 3 * 365 * 86400)
    report = maintain_database(any_db)
    assert report["skipped"] == []
    assert report["dropped"]["router_1s"] == 0
    assert len(hours(any_db)) == 2
    age(request, any_db, days=3)
    assert maintain_database(any_db)["dropped"]["router_1s"] == 1
    assert hours(any_db) == [ARCHIVE_S + 3 * 365 * 86400]
    write_at(any_db, ARCHIVE_S)
    assert len(hours(any_db)) == 2, "a dropped chunk can be written again"


def test_keeping_is_a_setting(any_db: str, request: pytest.FixtureRequest) -> None:
    write_at(any_db, ARCHIVE_S)
    age(request, any_db, days=3)
    with connect(any_db, role="owner") as conn:
        set_keep(conn, "router_1s", None)
        with pytest.raises(BadRequest, match="router_1m"):
            set_keep(conn, "job", 3)
    assert maintain_database(any_db)["dropped"]["router_1s"] == 0
    with connect(any_db, role="owner") as conn:
        set_keep(conn, "router_1s", 2.5)
    assert maintain_database(any_db)["dropped"]["router_1s"] == 1


def test_what_one_table_refuses_is_said_and_stops_no_other(embedded_db: str, request: pytest.FixtureRequest) -> None:
    write_at(embedded_db, ARCHIVE_S)
    age(request, embedded_db, days=3)
    with connect(embedded_db, role="owner") as conn:
        (chunk,) = conn.execute("SELECT chunk_name FROM time_chunk WHERE table_name = 'router_1s'").fetchone() or ("",)
        conn.execute(f"CREATE VIEW of_somebody AS SELECT * FROM flitwatch_chunk.{chunk}".encode())
        conn.execute("INSERT INTO event (at, kind, payload) VALUES (now() - interval '8 days', 'seen', '{}')")
        conn.execute(
            "INSERT INTO task (name, args, state, finished_at) VALUES ('demo.count', '{}', 'succeeded', now() - interval '91 days')"
        )
    report = maintain_database(url_for(embedded_db, "worker"))
    assert list(report["failed"]) == ["router_1s"] and "other objects depend on it" in report["failed"]["router_1s"]
    assert (report["dropped"]["event"], report["dropped"]["task"]) == (1, 1)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("DROP VIEW of_somebody")
    assert maintain_database(embedded_db)["dropped"]["router_1s"] == 1


@pytest.mark.system("faults")
def test_a_reader_holds_maintenance_up_only_for_its_table(embedded_db: str, request: pytest.FixtureRequest) -> None:
    write_at(embedded_db, ARCHIVE_S)
    with connect(embedded_db, role="owner") as conn:
        conn.execute("UPDATE time_chunk SET created_at = now() - interval '500 days'")
        conn.commit()
        with connect(embedded_db, role="reader") as reader:
            reader.execute("SELECT count(*) FROM router_1s").fetchone()
            report = maintain_database(embedded_db)
    assert report["skipped"] == ["router_1s"]
    assert report["dropped"]["router_1m"] == 1
    assert maintain_database(embedded_db)["dropped"]["router_1s"] == 1


def test_old_rows_go(embedded_db: str) -> None:
    with connect(embedded_db, role="owner") as conn:
        events.emit_event(conn, "old", {})
        conn.execute("UPDATE event SET at = now() - interval '8 days'")
        events.emit_event(conn, "new", {})
    assert maintain_database(embedded_db)["dropped"]["event"] == 1
    with connect(embedded_db, role="reader") as conn:
        assert [e.kind for e in list_events_since(conn, 0)] == ["new"]


def test_the_log_is_trimmed_and_readers_go_on(embedded_db: str, table_log: Log) -> None:
    with table_log.producer() as producer:
        for number in range(10):
            producer.append("t", b"%d" % number, partition=0)
            producer.flush()
        with connect(embedded_db, role="owner") as conn:
            log_keep.set_kept(conn, size_bytes=1)
            # As if these had been written half an hour ago.
            conn.execute(
                "ALTER TABLE log.batch DETACH PARTITION log.batch_%s".replace("%s", str(_segment(conn))).encode()
            )
            old = _segment(conn) - 3
            conn.execute(f"ALTER TABLE log.batch_{old + 3} RENAME TO batch_{old}".encode())
            conn.execute(f"UPDATE log.batch_{old} SET segment = {old}".encode())
            conn.execute(f"ALTER TABLE log.batch ATTACH PARTITION log.batch_{old} FOR VALUES IN ({old})".encode())
        with table_log.consumer("early", ["t"], on_assign=lambda _: {TopicPartition("t", 0): 4}) as consumer:
            found = [record for _ in range(3) for record in consumer.poll(100, 2)]
            assert [int(record.value) for record in found] == [4, 5, 6, 7, 8, 9]
        assert maintain_database(embedded_db)["dropped"]["log"] == 0, "the newest segment stays"
        producer.append("t", b"10", partition=0)
        producer.flush()
        assert maintain_database(embedded_db)["dropped"]["log"] == 1
        with table_log.consumer("late", ["t"], on_assign=lambda _: {TopicPartition("t", 0): 4}) as consumer:
            (record,) = consumer.poll(100, 5)
            assert (record.value, record.offset) == (b"10", 10)
            assert consumer.begin_offsets() == {TopicPartition("t", n): 10 if n == 0 else 0 for n in range(4)}


def _segment(conn: psycopg.Connection) -> int:
    row = conn.execute("SELECT max(segment) FROM log.partition").fetchone()
    assert row is not None
    return row[0]


def test_status_counts_chunks(any_db: str) -> None:
    write_at(any_db, ARCHIVE_S, ARCHIVE_S + 7200)
    with connect(any_db, role="reader") as conn:
        found = load_database_status(conn)
    assert found["tables"]["router_1s"]["chunks"] == 2
    assert found["tables"]["router_1h"]["keep_days"] is None
    assert found["tables"]["router_1s"]["newest"].timestamp() == ARCHIVE_S + 7200
    assert found["bytes"] > 0


# What `flitwatch doctor --size` computes, against tables that were written.


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
