"""The writer's own tables."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from flitwatch_db import connect
from flitwatch_db.core import events
from flitwatch_db.counters.observations import Observation, write_observations
from flitwatch_db.ingest import store as ingest
from flitwatch_domain.errors import Conflict

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
            ingest.add_minutes(
                conn,
                [
                    ingest.Minute(NOW, "a", 1, 2, 3, 4, 5, 6, 7),
                    ingest.Minute(NOW + timedelta(seconds=20), "a", records=10),
                ],
            )
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
        assert events.list_events_since(listener, 0) == []
        conn.commit()
        thread.join(30)
        heard = [int(notify.payload) for notify in listener.notifies(timeout=10, stop_after=2)]
        assert heard == [first, *emitted]
        assert [e.kind for e in events.list_events_since(listener, first - 1)] == ["counters", "job"]
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
