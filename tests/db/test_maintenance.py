"""Retention: what is old goes, counted from when it was written."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest

from flitwatch_db import connect
from flitwatch_db.core import events, log_keep
from flitwatch_db.core.logins import url_for
from flitwatch_db.core.maintenance import load_database_status, maintain_database, set_keep
from flitwatch_db.counters.store import Batch, Rows, write_batch
from flitwatch_domain.counters import ROUTER_COLUMNS
from flitwatch_domain.errors import BadRequest
from flitwatch_stream.log import Log, TopicPartition

ARCHIVE_S = 1_500_000_000  # July 2017


def write(url: str, *times: int) -> None:
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
    write(any_db, ARCHIVE_S)
    write(any_db, ARCHIVE_S + 3 * 365 * 86400)
    report = maintain_database(any_db)
    assert report["skipped"] == []
    assert report["dropped"]["router_1s"] == 0
    assert len(hours(any_db)) == 2
    age(request, any_db, days=3)
    assert maintain_database(any_db)["dropped"]["router_1s"] == 1
    assert hours(any_db) == [ARCHIVE_S + 3 * 365 * 86400]
    write(any_db, ARCHIVE_S)
    assert len(hours(any_db)) == 2, "a dropped chunk can be written again"


def test_keeping_is_a_setting(any_db: str, request: pytest.FixtureRequest) -> None:
    write(any_db, ARCHIVE_S)
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
    write(embedded_db, ARCHIVE_S)
    age(request, embedded_db, days=3)
    with connect(embedded_db, role="owner") as conn:
        (chunk,) = conn.execute("SELECT chunk_name FROM time_chunk WHERE table_name = 'router_1s'").fetchone() or ("",)
        conn.execute(f"CREATE VIEW of_somebody AS SELECT * FROM flitwatch_chunk.{chunk}".encode())
        conn.execute("INSERT INTO event (at, kind, payload) VALUES (now() - interval '8 days', 'told', '{}')")
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
    write(embedded_db, ARCHIVE_S)
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
        assert [e.kind for e in events.list_events_since(conn, 0)] == ["new"]


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
    write(any_db, ARCHIVE_S, ARCHIVE_S + 7200)
    with connect(any_db, role="reader") as conn:
        found = load_database_status(conn)
    assert found["tables"]["router_1s"]["chunks"] == 2
    assert found["tables"]["router_1h"]["keep_days"] is None
    assert found["tables"]["router_1s"]["newest"].timestamp() == ARCHIVE_S + 7200
    assert found["bytes"] > 0
