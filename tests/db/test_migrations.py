"""Migrations: once and in order, for any starter, on plain PostgreSQL and on TimescaleDB."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql
from support.databases import Server

from flitwatch_db import connect, detect_edition
from flitwatch_db.migrations import bootstrap, list_migrations, list_pending_migrations, migrate_database, runner
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
        assert runner.ending_those_in_use(conn) == [m.name for m in migrations]
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


def test_a_user_without_rights_is_informed_what_to_ask_for(embedded_server: Embedded, empty_db: str) -> None:
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
            with pytest.raises(Conflict, match="SQL_ASCII") as error:
                migrate_database(embedded_server.url_of("in_ascii"))
            assert "ENCODING 'UTF8'" in str(error.value.advice)
        finally:
            conn.execute("DROP DATABASE in_ascii WITH (FORCE)")


# What migrations say of older versions is true: the catalogue before and after an expansion has all that older code reads and writes (ADR 0010).


#: Ours that older code names; partitions come and go.
_SCHEMAS = "(SELECT oid FROM pg_namespace WHERE nspname IN ('flitwatch', 'log'))"

_OURS = f"relnamespace IN {_SCHEMAS} AND NOT relispartition AND relkind IN ('r', 'p', 'v', 'S')"

_RELATIONS = f"SELECT oid::regclass::text, (relkind::text, relrowsecurity)::text FROM pg_class WHERE {_OURS}"

_COLUMNS = f"""
    SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull,
        attnotnull AND NOT atthasdef AND attidentity = '' FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    WHERE {_OURS} AND relkind <> 'S' AND attnum > 0 AND NOT attisdropped"""

_FUNCTIONS = (
    f"SELECT oid::regprocedure::text, pg_get_function_result(oid) FROM pg_proc WHERE pronamespace IN {_SCHEMAS}"
)

#: By table: kind, definition, columns. An index that is unique binds like a constraint.
_RULES = f"""
    SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(k.oid),
        ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY(conkey))
    FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid WHERE {_OURS} AND contype IN ('c', 'f', 'p', 'u', 'x')
    UNION ALL
    SELECT indrelid::regclass::text, 'u', regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', ''),
        ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY(indkey))
    FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE {_OURS} AND indisunique
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))"""

_GRANTS = f"""
    SELECT held.name, a.grantee::regrole::text, a.privilege_type FROM (
        SELECT oid::regclass::text, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r'::"char" END, relowner))
        FROM pg_class WHERE {_OURS}
        UNION ALL SELECT attrelid::regclass || '.' || attname, attacl
        FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE {_OURS} AND attacl IS NOT NULL AND NOT attisdropped
        UNION ALL SELECT oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner))
        FROM pg_proc WHERE pronamespace IN {_SCHEMAS}
        UNION ALL SELECT nspname, nspacl FROM pg_namespace WHERE nspname IN ('flitwatch', 'log')
    ) held (name, acl), aclexplode(held.acl) a"""

_LITERALS = re.compile(r"(?:'(?:[^']|'')*'(?:::\w+)?(?:, )?)+")


@dataclass(frozen=True)
class Catalogue:
    """Tables and views, columns, functions, rules and grants, by what they are named."""

    relations: dict[str, str]
    columns: dict[tuple[str, str], tuple[str, bool, bool]]
    functions: dict[str, str]
    rules: set[tuple[str, str, str, tuple[str, ...]]]
    grants: set[tuple[str, str, str]]


def catalogue(conn: psycopg.Connection[Any]) -> Catalogue:
    def rows(query: str) -> list[tuple[Any, ...]]:
        return conn.execute(query.encode()).fetchall()

    return Catalogue(
        dict(rows(_RELATIONS)),
        {(table, column): (kind, bound, asked) for table, column, kind, bound, asked in rows(_COLUMNS)},
        dict(rows(_FUNCTIONS)),
        {(table, kind, text, tuple(names)) for table, kind, text, names in rows(_RULES)},
        set(rows(_GRANTS)),
    )


def taken(before: Catalogue, after: Catalogue) -> list[str]:
    """What code that knew the first would miss in the second."""
    return [
        *_tables(before, after),
        *_columns(before, after),
        *_functions(before, after),
        *_rules(before, after),
        *_grants(before, after),
    ]


def _tables(before: Catalogue, after: Catalogue) -> Iterator[str]:
    for name, kind in before.relations.items():
        if after.relations.get(name) != kind:
            yield f"{name} is gone or another"


def _columns(before: Catalogue, after: Catalogue) -> Iterator[str]:
    for (table, name), (kind, bound, asked) in before.columns.items():
        if table not in after.relations:
            continue
        now = after.columns.get((table, name))
        if now is None:
            yield f"{table}.{name} is gone"
        elif now[0] != kind:
            # A wider type, too: COPY in its binary form says how wide a value is.
            yield f"{table}.{name} is {now[0]}, was {kind}"
        elif now[1] > bound:
            yield f"{table}.{name} is NOT NULL"
        elif now[2] > asked:
            yield f"{table}.{name} has no default"
    for (table, name), (_, _, asked) in after.columns.items():
        if asked and table in before.relations and (table, name) not in before.columns:
            yield f"{table}.{name} is new, NOT NULL and without a default"


def _functions(before: Catalogue, after: Catalogue) -> Iterator[str]:
    for name, result in before.functions.items():
        if after.functions.get(name) != result:
            yield f"{name} is gone or returns something else"


def _rules(before: Catalogue, after: Catalogue) -> Iterator[str]:
    for table, kind, text, _ in before.rules - after.rules:
        # Writers name keys in ON CONFLICT; a check or reference that is gone takes nothing from them.
        if kind in "pux" and table in after.relations:
            yield f"{table} has no longer {text}"
    for table, kind, text, names in after.rules - before.rules:
        ofs = [name for name in names if (table, name) in before.columns]
        if table in before.relations and (ofs or not names) and not _widens(table, kind, text, before):
            yield f"{table} has a new rule: {text}"


def _widens(table: str, kind: str, text: str, before: Catalogue) -> bool:
    """Whether a check is an old one that lets more values pass: a longer list."""
    return kind == "c" and any(
        (table, kind) == (owner, sort)
        and _LITERALS.sub("", old) == _LITERALS.sub("", text)
        and _listed(old) <= _listed(text)
        for owner, sort, old, _ in before.rules
    )


def _listed(text: str) -> set[str]:
    """Values that a check names, each by itself or in an array's text."""
    return {value for literal in re.findall(r"'((?:[^']|'')*)'", text) for value in literal.strip("{}").split(",")}


def _grants(before: Catalogue, after: Catalogue) -> Iterator[str]:
    gone = {name for name in (*before.relations, *before.functions) if name not in (after.relations | after.functions)}
    for name, role, right in sorted(before.grants - after.grants):
        table, _, column = name.rpartition(".")
        if name not in gone and ((table, column) in after.columns or (table, column) not in before.columns):
            yield f"{role} may no longer {right} {name}"


@pytest.fixture(scope="module")
def scratch(_embedded_template: Server) -> Iterator[tuple[psycopg.Connection[Any], Catalogue]]:
    """A connection as the owner, and the catalogue as it is; each test rolls back."""
    url = _embedded_template.create()
    with connect(url, role="owner") as conn:
        yield conn, catalogue(conn)
    _embedded_template.drop(url)


def list_changes(scratch: tuple[psycopg.Connection[Any], Catalogue], text: str) -> list[str]:
    conn, before = scratch
    try:
        conn.execute(sql.SQL(text))
        return taken(before, catalogue(conn))
    finally:
        conn.rollback()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DROP TABLE source_position", "source_position is gone or another"),
        ("ALTER TABLE source_position RENAME TO position_of_source", "source_position is gone or another"),
        ("DO $$ BEGIN EXECUTE 'DROP ' || 'TABLE source_position'; END $$", "source_position is gone or another"),
        ("ALTER TABLE job ENABLE ROW LEVEL SECURITY", "job is gone or another"),
        ("ALTER TABLE job DROP COLUMN account", "job.account is gone"),
        ("ALTER TABLE job RENAME account TO project", "job.account is gone"),
        ("ALTER TABLE job ADD COLUMN site text NOT NULL", "job.site is new, NOT NULL and without a default"),
        ("ALTER TABLE job ALTER COLUMN account SET NOT NULL", "job.account is NOT NULL"),
        ("ALTER TABLE job ALTER COLUMN restart DROP DEFAULT", "job.restart has no default"),
        ("ALTER TABLE job ALTER COLUMN name TYPE varchar(20)", "job.name is character varying(20), was text"),
        ("ALTER TABLE job ALTER COLUMN nodes TYPE bigint", "job.nodes is bigint, was integer"),
        (
            "DROP FUNCTION array_add",
            "array_add(double precision[],double precision[]) is gone or returns something else",
        ),
        (
            "ALTER FUNCTION log.current_segment() RENAME TO segment",
            "log.current_segment() is gone or returns something else",
        ),
        ("REVOKE INSERT ON job FROM flitwatch_writer", "flitwatch_writer may no longer INSERT job"),
        ("REVOKE ALL ON SCHEMA flitwatch FROM flitwatch_reader", "flitwatch_reader may no longer USAGE flitwatch"),
        (
            "REVOKE UPDATE (bytes) ON task_file FROM flitwatch_writer",
            "flitwatch_writer may no longer UPDATE task_file.bytes",
        ),
        (
            "REVOKE EXECUTE ON FUNCTION ensure_chunks FROM flitwatch_writer",
            "flitwatch_writer may no longer EXECUTE ensure_chunks(text,timestamp with time zone[])",
        ),
        ("ALTER TABLE job ADD CHECK (nodes > 0)", "job has a new rule: CHECK ((nodes > 0))"),
        ("CREATE UNIQUE INDEX ON job (name)", "job has a new rule: btree (name)"),
        ("ALTER TABLE run_rank DROP CONSTRAINT run_rank_pkey", "run_rank has no longer PRIMARY KEY (run_id, rank)"),
        (
            "ALTER TABLE fabric DROP CONSTRAINT fabric_kind_check; ALTER TABLE fabric ADD CHECK (kind IN ('dragonfly', 'fat_tree', 'torus'))",
            "fabric has a new rule: CHECK ((kind = ANY (ARRAY['dragonfly'::text, 'fat_tree'::text, 'torus'::text])))",
        ),
    ],
)
def test_what_older_code_would_miss_is_found(
    scratch: tuple[psycopg.Connection[Any], Catalogue], text: str, said: str
) -> None:
    assert said in list_changes(scratch, text)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE site (name text PRIMARY KEY, CHECK (name <> '')); GRANT SELECT ON site TO flitwatch_reader",
        "ALTER TABLE job ADD COLUMN site text NOT NULL DEFAULT '' CHECK (site <> 'x'), ADD COLUMN job_number bigint UNIQUE",
        "CREATE INDEX ON job (name); DROP INDEX job_by_id",
        "ALTER TABLE fabric DROP CONSTRAINT fabric_kind_check; ALTER TABLE fabric ADD CHECK (kind IN ('dragonfly', 'fat_tree', 'torus', 'graph', 'mesh'))",
        "CREATE OR REPLACE FUNCTION array_add(a float8[], b float8[]) RETURNS float8[] LANGUAGE sql IMMUTABLE AS 'SELECT a'",
        "ALTER TABLE job ALTER COLUMN state DROP NOT NULL; GRANT DELETE ON job TO flitwatch_keeper",
    ],
)
def test_what_older_code_never_asked_for_is_free(scratch: tuple[psycopg.Connection[Any], Catalogue], text: str) -> None:
    assert list_changes(scratch, text) == []


def test_each_migration_says_what_becomes_of_older_versions() -> None:
    known = [m.name for m in list_migrations()]
    assert known[0] == runner.BASELINE, f"{known[0]}: give it a later name than {runner.BASELINE}"
    for migration in list_migrations()[1:]:
        assert migration.oldest, (
            f"{migration.name}: its first line says `-- expansion` or `-- contraction: ends versions older than NAME`"
        )
        assert runner.BASELINE <= migration.oldest <= migration.name and migration.oldest in known


def test_expansions_take_nothing_from_older_versions(embedded_server: Embedded) -> None:
    """Of each file what it did, not how it is worded."""
    found: dict[str, list[str]] = {}
    with psycopg.connect(embedded_server.url_of("postgres", "postgres"), autocommit=True) as server:
        server.execute("CREATE DATABASE judged OWNER flitwatch")
        try:
            with connect(embedded_server.url_of("judged")) as conn:
                bootstrap.prepare_database(conn)
                before = catalogue(conn)
                for migration in list_migrations():
                    conn.execute(sql.SQL(migration.text))
                    after = catalogue(conn)
                    found[migration.name], before = taken(before, after), after
                conn.rollback()
        finally:
            server.execute("DROP DATABASE judged WITH (FORCE)")
    assert {m.name: found[m.name] for m in list_migrations() if m.oldest == runner.BASELINE and found[m.name]} == {}
