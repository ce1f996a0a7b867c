"""Sums of counters in the tables equal those in numpy."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import list_events_since

from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.counters.store import (
    Batch,
    Observation,
    PortRows,
    Rows,
    write_batch,
    write_observations,
    write_port_totals,
)
from flitwatch_db.ingest import store as ingest
from flitwatch_domain.counters import ENDPOINT_COLUMNS, ROUTER_COLUMNS
from flitwatch_domain.errors import BadInput, Conflict

START_S = 1_772_366_399  # one second before a minute, an hour and a day begin

KEY = tuple[int, int, int]


def rows(entries: list[tuple[int, int, int]], values: np.ndarray, samples: int = 1) -> Rows:
    """Entries are (fabric, device, second)."""
    key = np.array(entries, dtype=np.int64).reshape(-1, 3)
    n = len(key)
    return Rows(
        key[:, 0].astype(np.int32),
        key[:, 1].astype(np.int32),
        key[:, 2],
        np.full(n, samples, np.int32),
        np.full(n, 40.0),
        values,
    )


class Oracle:
    """What the tables must hold, by width and key."""

    def __init__(self) -> None:
        self.sums: dict[tuple[int, KEY], dict[int, float]] = {}
        self.samples: dict[tuple[int, KEY], int] = {}

    def add(self, batch: Rows) -> None:
        for i in range(len(batch.ts_s)):
            for width in (1, 60, 3600):
                ts = int(batch.ts_s[i]) // width * width
                key = (width, (int(batch.fabric_id[i]), ts, int(batch.device[i])))
                cell = self.sums.setdefault(key, {})
                self.samples[key] = self.samples.get(key, 0) + int(batch.samples[i])
                for column, value in enumerate(batch.values[i]):
                    if not np.isnan(value):
                        cell[column] = cell.get(column, 0.0) + float(value)


def stored(conn: psycopg.Connection[Any], device: str, columns: tuple[str, ...]) -> tuple[dict, dict]:
    sums, samples = {}, {}
    for width, suffix in ((1, "1s"), (60, "1m"), (3600, "1h")):
        query = f"SELECT fabric_id, extract(epoch FROM ts)::bigint, {device}, samples, {', '.join(columns)} FROM {device}_{suffix}"
        for fabric, ts, number, count, *values in conn.execute(query.encode()):
            key = (width, (fabric, ts, number))
            sums[key] = {i: v for i, v in enumerate(values) if v is not None}
            samples[key] = count
    return sums, samples


CELL = st.one_of(st.just(float("nan")), st.integers(-(2**40), 2**52).map(float))

ENTRY = st.tuples(st.integers(1, 2), st.integers(0, 3), st.integers(START_S - 2, START_S + 130))


@pytest.mark.parametrize(("device", "columns"), [("router", ROUTER_COLUMNS), ("endpoint", ENDPOINT_COLUMNS)])
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_batches_add_up(any_db: str, device: str, columns: tuple[str, ...], data: st.DataObject) -> None:
    oracle = Oracle()
    with connect(any_db, role="writer") as conn:
        for _ in range(data.draw(st.integers(1, 3), "batches")):
            entries = data.draw(st.lists(ENTRY, min_size=1, max_size=12), "entries")
            few = data.draw(st.lists(CELL, min_size=len(entries) * 3, max_size=len(entries) * 3), "values")
            values = np.full((len(entries), len(columns)), np.nan)
            values[:, [0, 2, len(columns) - 1]] = np.array(few).reshape(-1, 3)
            batch = rows(entries, values, data.draw(st.integers(-1, 4), "samples"))
            oracle.add(batch)
            write_batch(conn, Batch(routers=batch) if device == "router" else Batch(endpoints=batch))
        assert stored(conn, device, columns) == (oracle.sums, oracle.samples)
        conn.rollback()


def test_ports_add_element_by_element(any_db: str) -> None:
    nan = float("nan")
    first = np.array([[1.0, nan, 3.0], [5.0, 6.0, nan]])
    keys = (
        np.array([1, 1], np.int32),
        np.array([0, 7], np.int32),
        np.array([START_S // 10 * 10] * 2),
        np.array([30.0, 20.0]),
    )
    with connect(any_db, role="writer") as conn:
        write_batch(conn, Batch(ports=PortRows(*keys, first, first * 2)))
        write_batch(
            conn, Batch(ports=PortRows(*keys, np.array([[nan, nan, 4.0], [-5.0, 1.0, nan]]), first * 3, packets=first))
        )
        found = conn.execute(
            "SELECT router, port_seconds, flits, stall_cycles, packets FROM port_10s ORDER BY router"
        ).fetchall()
    assert found == [
        (0, 60.0, [1.0, None, 7.0], [5.0, None, 15.0], [1.0, None, 3.0]),
        (7, 40.0, [0.0, 7.0, None], [25.0, 30.0, None], [5.0, 6.0, None]),
    ]


def test_a_rolled_back_batch_leaves_nothing(any_db: str) -> None:
    values = np.ones((1, len(ROUTER_COLUMNS)))
    with connect(any_db, role="writer") as conn:
        write_batch(conn, Batch(routers=rows([(1, 0, START_S)], values)))
        conn.rollback()
        write_batch(conn, Batch(routers=rows([(1, 0, START_S)], values)))
        conn.commit()
        assert conn.execute("SELECT sum(rt_flits) FROM router_1h").fetchone() == (1.0,)


def test_far_apart_times_fit_in_one_batch(any_db: str) -> None:
    times = [0, 86_400 * 365 * 40, START_S, (1 << 32) - 1]
    with connect(any_db, role="writer") as conn:
        write_batch(conn, Batch(routers=rows([(1, 0, ts) for ts in times], np.ones((4, len(ROUTER_COLUMNS))))))
        found = conn.execute("SELECT extract(epoch FROM ts)::bigint FROM router_1s ORDER BY ts").fetchall()
    assert [row[0] for row in found] == times


@pytest.mark.parametrize("ts", [-1, 1 << 32])
def test_times_that_no_clock_shows_are_refused(embedded_db: str, ts: int) -> None:
    with connect(embedded_db, role="writer") as conn, pytest.raises(BadInput, match="1970 to 2106"):
        write_batch(conn, Batch(routers=rows([(1, 0, ts)], np.ones((1, len(ROUTER_COLUMNS))))))


def test_misshapen_batches_are_refused(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        with pytest.raises(BadInput, match="do not fit"):
            write_batch(conn, Batch(routers=rows([(1, 0, START_S)], np.ones((1, 3)))))
        with pytest.raises(BadInput, match="multiples of 10"):
            one = np.ones(1, np.int32)
            write_batch(
                conn, Batch(ports=PortRows(one, one, np.array([5]), np.ones(1), np.ones((1, 2)), np.ones((1, 2))))
            )


def test_port_totals_are_replaced(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        conn.execute(
            "INSERT INTO fabric (name, kind, technology, counted_at) VALUES ('edison', 'dragonfly', 'cray_xc', 'receiver')"
        )
        router, port = np.array([0, 0], np.int32), np.array([3, 4], np.int32)
        for factor in (1.0, 2.0):
            write_port_totals(
                conn,
                1,
                router,
                port,
                np.array([10.0, np.nan]) * factor,
                np.array([5.0, 0.0]),
                "counters.csv",
                vc_flits=np.array([[4.0, 6.0], [np.nan, np.nan]]) * factor,
            )
        found = conn.execute(
            "SELECT port, flits, stall_cycles, vc_flits, vc_stall_cycles, source FROM port_total ORDER BY port"
        ).fetchall()
    assert found == [
        (3, 20.0, 5.0, [8.0, 12.0], None, "counters.csv"),
        (4, None, 0.0, [None, None], None, "counters.csv"),
    ]


# The writer's own tables.


NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)

READER = ingest.Reader("writer", "table:1")

A, B = ("ldms.a", 0), ("ldms.b", 3)


def test_positions_move_on_only_from_where_the_writer_left_them(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        ingest.advance_positions(conn, READER, {A: ingest.Position(10, 4), B: ingest.Position(1, 0, NOW)}, {})
        ingest.advance_positions(conn, READER, {A: ingest.Position(20, 15, NOW)}, {A: 10})
        conn.commit()
        with pytest.raises(Conflict, match="another writer"):
            ingest.advance_positions(
                conn, READER, {A: ingest.Position(30, 25), B: ingest.Position(2, 2)}, {A: 10, B: 1}
            )
        conn.rollback()
        with pytest.raises(Conflict):
            ingest.advance_positions(conn, READER, {A: ingest.Position(30, 25)}, {})
        conn.rollback()
        assert ingest.load_positions(conn, READER) == {A: ingest.Position(20, 15, NOW), B: ingest.Position(1, 0, NOW)}
        assert ingest.load_positions(conn, ingest.Reader("other", "table:1")) == {}


def test_positions_of_one_log_mean_nothing_in_another(embedded_db: str) -> None:
    other = READER._replace(log_id="kafka:2")
    with connect(embedded_db, role="writer") as conn:
        ingest.advance_positions(conn, READER, {A: ingest.Position(100, 90)}, {})
        ingest.advance_positions(conn, other, {A: ingest.Position(3, 2)}, {})
        assert ingest.load_positions(conn, other) == {A: ingest.Position(3, 2)}
        assert ingest.load_positions(conn, READER) == {A: ingest.Position(100, 90)}


def test_positions_of_an_older_version_go_to_the_first_log_that_is_read(embedded_db: str) -> None:
    other = READER._replace(log_id="kafka:2")
    with connect(embedded_db, role="writer") as conn:
        ingest.advance_positions(conn, READER._replace(log_id=""), {A: ingest.Position(100, 90)}, {})
        assert ingest.adopt_positions(conn, other) == 1
        assert ingest.adopt_positions(conn, READER) == 0
        assert ingest.load_positions(conn, other) == {A: ingest.Position(100, 90)}


def test_a_second_writer_waits_and_then_gives_way(embedded_db: str) -> None:
    outcome: list[str] = []

    def second() -> None:
        with connect(embedded_db, role="writer") as conn:
            try:
                ingest.advance_positions(conn, READER, {A: ingest.Position(12, 12)}, {A: 10})
                outcome.append("written twice")
            except Conflict:
                conn.rollback()
                outcome.append("gave way")

    with connect(embedded_db, role="writer") as conn:
        ingest.advance_positions(conn, READER, {A: ingest.Position(10, 10)}, {})
        conn.commit()
        ingest.advance_positions(conn, READER, {A: ingest.Position(11, 11)}, {A: 10})
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        assert not outcome
        conn.commit()
        thread.join(30)
    assert outcome == ["gave way"]


def test_sources_never_go_back(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        ingest.save_source_positions(conn, {"host:/a": 5, "host:/b": 2**60})
        ingest.save_source_positions(conn, {"host:/a": 4, "host:/c": 0})
        assert ingest.source_positions(conn, ["host:/a", "host:/b", "host:/c", "absent"]) == {
            "host:/a": 5,
            "host:/b": 2**60,
            "host:/c": 0,
        }


def test_dead_letters_keep_the_bytes(embedded_db: str) -> None:
    raw = bytes(range(256)) * 400
    with connect(embedded_db, role="writer") as conn:
        ingest.add_dead_letters(
            conn, [ingest.DeadLetter("ldms.a", 1, 77, "bad \0 JSON \ud800", raw, source="s", where="offset 3")]
        )
        found = conn.execute(
            "SELECT topic, partition, offset_, reason, raw, raw_bytes, where_ FROM dead_letter"
        ).fetchone()
    assert found is not None
    assert found[:3] == ("ldms.a", 1, 77)
    assert found[3] == "bad \N{SYMBOL FOR NULL} JSON ?"
    assert (found[4], found[5], found[6]) == (raw[: 64 << 10], len(raw), "offset 3")


def test_minutes_add_up(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        for _ in range(2):
            ingest.add_rates(conn, NOW, {"a": ingest.Rates(1, 2, 3, 4, 5, 6, 7)})
            ingest.add_rates(conn, NOW + timedelta(seconds=20), {"a": ingest.Rates(records=10)})
        found = conn.execute(
            "SELECT ts, records, values_, bytes, duplicates, late, dead, unplaced FROM ingest_minute"
        ).fetchall()
    assert found == [(NOW.replace(second=0), 22, 4, 6, 8, 10, 12, 14)]


def test_gaps_and_schemas(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        ingest.add_gaps(
            conn,
            [ingest.Gap("c0-0c0s0a0", "aries", NOW, NOW + timedelta(seconds=9), "silence", counts={"rt_flits": 7})],
        )
        assert conn.execute("SELECT device, reason, counts FROM gap").fetchall() == [
            ("c0-0c0s0a0", "silence", {"rt_flits": 7})
        ]
        first = ingest.register_schema(conn, "aries", "abc", ["a", "b"], "router")
        # A later version may say more of the same columns.
        assert ingest.register_schema(conn, "aries", "abc", ["a", "c"], "router") == first
        assert conn.execute("SELECT columns FROM ldms_schema").fetchone() == (["a", "c"],)
        assert ingest.register_schema(conn, "aries", "abd", ["a"], "router") != first
        ingest.count_records(conn, {first: 5})
        ingest.count_records(conn, {first: 6})
        assert conn.execute("SELECT records FROM ldms_schema WHERE schema_id = %s", [first]).fetchone() == (11,)


def test_observations_hold_every_u64(any_db: str) -> None:
    rows = [
        Observation(1, 5, "n5/vmstat", NOW.timestamp(), u64=[0, 2**64 - 1, None], text=["a,b", '"q"', None]),
        Observation(1, None, None, NOW.timestamp() + 1e6, f64=[1.5, None]),
    ]
    with connect(any_db, role="writer") as conn:
        write_observations(conn, rows)
        found = conn.execute("SELECT component_id, u64, f64, text FROM observation ORDER BY ts").fetchall()
    assert found == [(5, [0, 2**64 - 1, None], None, ["a,b", '"q"', None]), (None, None, [1.5, None], None)]


def test_events_are_seen_in_order_and_wake_listeners(embedded_db: str) -> None:
    """A reader that follows ids never misses one that was committed late."""
    with connect(embedded_db, role="reader", autocommit=True) as listener, connect(embedded_db, role="writer") as conn:
        listener.execute(f"LISTEN {events.CHANNEL}".encode())
        first = events.emit_event(conn, "counters", {"through": "now"})
        emitted: list[int] = []

        def second() -> None:
            with connect(embedded_db, role="writer") as other:
                emitted.append(events.emit_event(other, "job", {}))

        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        assert not emitted, "a later id became visible before an earlier one"
        assert list_events_since(listener, 0) == []
        conn.commit()
        thread.join(30)
        heard = [int(notify.payload) for notify in listener.notifies(timeout=10, stop_after=2)]
        assert heard == [first, *emitted]
        assert [e.kind for e in list_events_since(listener, first - 1)] == ["counters", "job"]
        assert events.last_id(listener) == emitted[0]


def test_the_reader_cannot_write_and_the_writer_cannot_remove(embedded_db: str) -> None:
    with connect(embedded_db, role="reader", autocommit=True) as reader:
        for query in (
            "INSERT INTO event (kind, payload) VALUES ('x', '{}')",
            "DELETE FROM job",
            "SELECT ensure_chunks('router_1s', '{}')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(query.encode())
        assert reader.execute("SELECT count(*) FROM router_1s").fetchone() == (0,)
    with connect(embedded_db, role="writer", autocommit=True) as writer:
        for query in (
            "DELETE FROM router_1s",
            "DROP TABLE event",
            "CREATE TABLE flitwatch.mine (a int)",
            "TRUNCATE dead_letter",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute(query.encode())
