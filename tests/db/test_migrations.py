"""Migrations: once, in order, whoever starts them, on plain PostgreSQL and on TimescaleDB."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from flitwatch_db import connect, detect_edition
from flitwatch_db.migrations import list_migrations, list_pending_migrations, migrate_database, runner
from flitwatch_domain.errors import Conflict, Forbidden, Unavailable
from flitwatch_ops.embedded import Embedded

TIME_TABLES = {
    "router_1s",
    "sample_1s",
    "sample_1m",
    "sample_1h",
    "sample_host_1m",
    "router_1m",
    "router_1h",
    "fabric_5m",
    "fabric_2h",
    "fabric_1d",
    "endpoint_1s",
    "endpoint_1m",
    "endpoint_1h",
    "port_10s",
    "router_lane_10s",
    "router_lane_1h",
    "endpoint_lane_10s",
    "endpoint_lane_1h",
    "observation",
}


@pytest.fixture
def empty_db(embedded_server: Embedded, request: pytest.FixtureRequest) -> Any:
    """A database that nobody has migrated."""
    name = f"empty_{abs(hash(request.node.name)) % 10**8}"
    with psycopg.connect(embedded_server.url_of("postgres", "postgres"), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} OWNER flitwatch".encode())
        yield embedded_server.url_of(name)
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_concurrent_starters_apply_each_migration_once(empty_db: str) -> None:
    applied: list[list[str]] = []
    failures: list[BaseException] = []

    def start() -> None:
        try:
            applied.append(migrate_database(empty_db))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert sorted(len(names) for names in applied)[:3] == [0, 0, 0]
    assert [m.name for m in list_migrations()] == max(applied, key=len)
    with connect(empty_db, role="reader") as conn:
        assert list_pending_migrations(conn) == []


def test_names_are_dated_and_in_order() -> None:
    names = [m.name for m in list_migrations()]
    assert names == sorted(names)
    assert all(name[:10].replace("_", "").isdigit() for name in names)


def test_a_changed_or_unknown_migration_is_refused(embedded_db: str) -> None:
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        conn.execute("UPDATE migration SET digest = 'x' WHERE name = %s", [list_migrations()[0].name])
        with pytest.raises(Conflict, match="another text"):
            migrate_database(embedded_db)
        conn.execute(
            "UPDATE migration SET digest = %s WHERE name = %s", [list_migrations()[0].digest, list_migrations()[0].name]
        )
        conn.execute("INSERT INTO migration VALUES ('2999_01_01_01_future', 'x')")
        with pytest.raises(Conflict, match="newer Flitwatch"):
            migrate_database(embedded_db)


def test_a_database_with_all_migrations_before_the_baseline_goes_on_from_there_and_one_with_some_is_refused(
    embedded_db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {"2026_11_21_01_first": "a", "2026_11_22_02_second": "b"}
    monkeypatch.setattr(runner, "REPLACED", (2, runner.digest_names(old)))
    later = runner.Migration("2999_01_01_01_later", "CREATE TABLE later ()", "x", runner.BASELINE)
    migrations = (*list_migrations(), later)
    monkeypatch.setattr(runner, "list_migrations", lambda: migrations)
    with connect(embedded_db, role="owner", autocommit=True) as conn:
        conn.execute("DELETE FROM migration")
        conn.execute("INSERT INTO migration VALUES ('2026_11_21_01_first', 'a'), ('2026_11_22_02_second', 'c')")
        with pytest.raises(Conflict, match="another text"):
            migrate_database(embedded_db)
        conn.execute("DELETE FROM migration WHERE name = '2026_11_22_02_second'")
        with pytest.raises(Conflict, match=r"1 of the 2 migrations from before 0\.1\.0.* commit 407a956e"):
            migrate_database(embedded_db)
        conn.execute("INSERT INTO migration VALUES ('2026_11_22_02_second', 'b')")
        assert runner.ending_those_in_use(conn) == [runner.BASELINE, later.name]
        assert migrate_database(embedded_db) == [m.name for m in migrations]
        assert runner.list_newer_migrations(conn) == {}
        assert conn.execute("SELECT to_regclass('later')").fetchone() == ("later",)
    assert migrate_database(embedded_db) == []


def test_an_unmigrated_database_says_what_to_do(empty_db: str) -> None:
    from flitwatch_stream.backends import open_log

    migrate_database(empty_db)
    with psycopg.connect(empty_db) as conn:
        conn.execute("DROP SCHEMA log CASCADE")
    with open_log(empty_db) as log, pytest.raises(Unavailable, match="flitwatch db migrate"):
        log.topics()


def test_a_user_without_rights_is_told_what_to_ask_for(embedded_server: Embedded, empty_db: str) -> None:
    with psycopg.connect(embedded_server.url_of("postgres", "postgres"), autocommit=True) as conn:
        conn.execute("CREATE ROLE nobody_much LOGIN PASSWORD 'little'")
        with pytest.raises(Forbidden, match="administrator"):
            migrate_database(empty_db.replace("//flitwatch@", "//nobody_much:little@"))
        conn.execute("DROP ROLE nobody_much")


def test_plain_postgresql_gets_partitions(embedded_db: str) -> None:
    with connect(embedded_db, role="writer") as conn:
        assert detect_edition(conn) == "plain"
        found = conn.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = 'flitwatch'::regnamespace"
        ).fetchall()
        assert {row[0] for row in found} == TIME_TABLES
        times = ["2026-03-01 11:59:59+00", "2026-03-01 12:00:00+00", "2026-03-01 12:59:59+00"]
        conn.execute("SELECT ensure_chunks('router_1s', %s::timestamptz[])", [times])
        spans = conn.execute(
            "SELECT extract(hour FROM from_ts)::int, to_ts - from_ts = '1 hour' FROM time_chunk ORDER BY 1"
        ).fetchall()
        assert spans == [(11, True), (12, True)]


def test_two_writers_may_make_the_same_partition(embedded_db: str) -> None:
    done: list[bool] = []

    def second() -> None:
        with connect(embedded_db, role="writer") as other:
            other.execute("SELECT ensure_chunks('router_1s', ARRAY['2026-03-01 12:00+00'::timestamptz])")
            done.append(True)

    with connect(embedded_db, role="writer") as conn:
        conn.execute("SELECT ensure_chunks('router_1s', ARRAY['2026-03-01 12:00+00'::timestamptz])")
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        assert not done
        conn.commit()
        thread.join(30)
        assert done
        assert conn.execute("SELECT count(*) FROM time_chunk").fetchone() == (1,)


@pytest.mark.smoke
@pytest.mark.system("stores")
def test_timescaledb_gets_hypertables(timescale_db: str) -> None:
    with connect(timescale_db, role="writer") as conn:
        assert detect_edition(conn) == "apache"
        found = conn.execute("SELECT hypertable_name FROM timescaledb_information.hypertables").fetchall()
        assert {row[0] for row in found} == TIME_TABLES
        spans = dict(
            conn.execute(
                "SELECT hypertable_name, time_interval FROM timescaledb_information.dimensions WHERE hypertable_name LIKE 'router%%'",
                [],
            ).fetchall()
        )
        assert {name: span.total_seconds() for name, span in spans.items()} == {
            "router_1s": 3600,
            "router_1m": 86400,
            "router_1h": 30 * 86400,
            "router_lane_10s": 6 * 3600,
            "router_lane_1h": 30 * 86400,
        }
        conn.execute("SELECT ensure_chunks('router_1s', ARRAY[now()])")
        assert conn.execute("SELECT count(*) FROM time_chunk").fetchone() == (0,)
    assert migrate_database(timescale_db) == []


def test_a_database_of_another_encoding_is_refused_with_advice(embedded_server: Embedded) -> None:
    with psycopg.connect(embedded_server.url_of("postgres", "postgres"), autocommit=True) as conn:
        conn.execute("CREATE DATABASE in_ascii OWNER flitwatch ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(Conflict, match="SQL_ASCII") as told:
                migrate_database(embedded_server.url_of("in_ascii"))
            assert "ENCODING 'UTF8'" in str(told.value.advice)
        finally:
            conn.execute("DROP DATABASE in_ascii WITH (FORCE)")
