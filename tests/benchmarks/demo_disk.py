"""Disk use of the demo over days: `FLITWATCH_HOME=... python -m benchmarks.demo_disk [HOURS]`, from tests/, after `flitwatch up` and `down`. Prints a JSON line per six hours.

The demo's database continues without its services. The server's clock is advanced in steps of ten minutes, followed by the worker's maintenance of the database.
Each hour repeats the demo's last data (the last five minutes of counters twelve times; jobs, runs and events of the last hour), and appends to the log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from benchmarks.demo_footprint import size_mb
from integration.campaign import SHIM
from psycopg import sql

from flitwatch.commands.up import list_servers
from flitwatch_db import connect
from flitwatch_db.core import log_keep
from flitwatch_db.core.maintenance import maintain_database, table_names
from flitwatch_db.tasks.upkeep import EVERY_S
from flitwatch_ops.home import home_folder
from flitwatch_stream.backends import open_log

HOUR_S, STEP_S, WINDOW_S, EVERY_H = 3600, int(EVERY_S), 300, 6
#: What is appended to the log each hour, in parts between which it is trimmed: the demo appends 8 MB between two looks.
LOG_MB, LOG_PART_MB = 64, 8
#: Of a job and of its runs.
JOB_TABLES = ("job", "job_node", "job_step", "run", "run_step", "run_step_nic")
OTHER_PER_JOB = 10**7


def columns_of(conn: psycopg.Connection[Any], table: str) -> dict[str, str]:
    """Types of a table's columns."""
    return dict(
        conn.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            [f"flitwatch.{table}"],
        ).fetchall()
    )


def keep_window(conn: psycopg.Connection[Any], tables: list[str]) -> list[str]:
    """Copy what each hour repeats into temporary tables; return those of `tables` that have rows in it."""
    filled = []
    for table in tables:
        conn.execute(
            sql.SQL("CREATE TEMP TABLE {} AS SELECT * FROM flitwatch.{} WHERE ts >= (SELECT max(ts) FROM flitwatch.{}) - make_interval(secs => {})").format(
                sql.Identifier(f"kept_{table}"), sql.Identifier(table), sql.Identifier(table), HOUR_S - 1 if table.endswith("_1h") else WINDOW_S - 1
            )
        )  # fmt: skip
        if conn.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(f"kept_{table}"))).fetchone():
            filled.append(table)
    conn.execute(
        "CREATE TEMP TABLE kept_job AS SELECT * FROM flitwatch.job WHERE end_ts > (SELECT max(end_ts) FROM flitwatch.job) - interval '1 hour'"
    )
    conn.execute(
        "CREATE TEMP TABLE kept_run AS SELECT * FROM flitwatch.run WHERE job_pk IN (SELECT job_pk FROM kept_job)"
    )
    for table in JOB_TABLES:
        if table not in ("job", "run"):
            key, above = ("job_pk", "job") if table.startswith("job") else ("run_id", "run")
            conn.execute(
                sql.SQL("CREATE TEMP TABLE {} AS SELECT * FROM flitwatch.{} WHERE {k} IN (SELECT {k} FROM {})").format(
                    sql.Identifier(f"kept_{table}"), sql.Identifier(table), sql.Identifier(f"kept_{above}"), k=sql.Identifier(key)
                )
            )  # fmt: skip
    conn.execute(
        "CREATE TEMP TABLE kept_event AS SELECT * FROM flitwatch.event WHERE at > (SELECT max(at) FROM flitwatch.event) - interval '1 hour'"
    )
    return filled


def repeat_counters(conn: psycopg.Connection[Any], table: str, passed_s: int) -> None:
    """The counters of another step, or of another hour in a table of hours."""
    names = list(columns_of(conn, table))
    times = 1 if table.endswith("_1h") else STEP_S // WINDOW_S
    shift = sql.SQL("make_interval(secs => {} + k * {})").format(passed_s, WINDOW_S)
    kept, counted = sql.Identifier(f"kept_{table}"), sql.SQL("generate_series(0, {}) AS k").format(times - 1)
    conn.execute(
        sql.SQL("SELECT ensure_chunks({}, array_agg(DISTINCT ts + {})) FROM {}, {}").format(table, shift, kept, counted)
    )
    selected = [sql.SQL("ts + {}").format(shift) if name == "ts" else sql.Identifier(name) for name in names]
    conn.execute(
        sql.SQL("INSERT INTO flitwatch.{} ({}) SELECT {} FROM {}, {} ON CONFLICT DO NOTHING").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, names)), sql.SQL(", ").join(selected), kept, counted
        )
    )  # fmt: skip


def repeat_rows(conn: psycopg.Connection[Any], table: str, hour: int) -> None:
    """The rows of another hour, of jobs that are others."""
    selected: list[sql.Composable] = []
    types = columns_of(conn, table)
    types.pop("event_id", None)
    for name, kind in types.items():
        column = sql.Identifier(name)
        if name in ("job_pk", "run_id"):
            selected.append(sql.SQL("{} + {}").format(column, hour * OTHER_PER_JOB))
        elif name in ("job_id", "run_key") and table in ("job", "run"):
            selected.append(sql.SQL("{} || {}").format(column, f"+{hour}"))
        elif kind == "timestamp with time zone":
            selected.append(sql.SQL("{} + make_interval(hours => {})").format(column, hour))
        else:
            selected.append(column)
    conn.execute(
        sql.SQL("INSERT INTO flitwatch.{} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, types)),
            sql.SQL(", ").join(selected),
            sql.Identifier(f"kept_{table}"),
        )
    )


def fill_log(conn: psycopg.Connection[Any], url: str) -> None:
    """Append to the log, and trim it as often as the worker does."""
    with open_log(url) as log, log.producer() as producer:
        for _ in range(LOG_MB // LOG_PART_MB):
            for part in range(LOG_PART_MB * 2):
                producer.append("flitwatch.benchmark", os.urandom(500_000), partition=part % 4)
            producer.flush()
            log_keep.trim_log(conn)


def vacuum_due(conn: psycopg.Connection[Any]) -> None:
    """What the server's autovacuum does within an hour, by its own rule: hours pass too fast for it here."""
    due = conn.execute(
        "SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'flitwatch' AND n_dead_tup > 50 + 0.2 * n_live_tup"
    ).fetchall()
    for (table,) in due:
        conn.execute(sql.SQL("VACUUM flitwatch.{}").format(sql.Identifier(table)))


def measure(conn: psycopg.Connection[Any], home: Path) -> dict[str, int]:
    """Sizes in MB, without what this program keeps for itself."""
    row = conn.execute(
        "SELECT pg_database_size(current_database()),"
        " (SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'),"
        " (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent = 'log.batch'::regclass),"
        " (SELECT coalesce(sum(pg_total_relation_size(i.inhrelid)), 0) FROM pg_inherits i JOIN time_table t ON i.inhparent = ('flitwatch.' || t.name)::regclass),"
        " (SELECT sum(pg_total_relation_size(('flitwatch.' || name)::regclass)) FROM unnest(%s::text[]) AS name)",
        [list(JOB_TABLES)],
    ).fetchone()
    assert row is not None
    database, own, log, counters, jobs = (float(size) / 1e6 for size in row)
    parts = {"all": size_mb(home) - own, "database": database - own, "log": log, "counters": counters, "jobs": jobs}
    return {name: round(mb) for name, mb in parts.items()} | {
        "write-ahead log": round(size_mb(home / "pg" / "data" / "pg_wal"))
    }


def main() -> None:
    """Go on for so many hours."""
    hours = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    home = home_folder()
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        library, clock = Path(place, "stepped_clock.so"), Path(place, "clock")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM)], check=True)
        clock.write_bytes(bytes(8))
        clock.chmod(0o644)
        # Only of the server: this process was begun without it.
        os.environ |= {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(clock)}
        (server,) = list_servers("embedded", "demo")
        url = server.ensure()
        try:
            with connect(url, autocommit=True) as conn:
                repeated = keep_window(conn, table_names(conn))
                print(json.dumps({"hour": 0, "mb": measure(conn, home)}), flush=True)
                most: dict[str, int] = {}
                for passed_s in range(STEP_S, hours * HOUR_S + 1, STEP_S):
                    with clock.open("r+b") as file:
                        file.write(passed_s.to_bytes(8, "little", signed=True))
                    hour, rest_s = divmod(passed_s, HOUR_S)
                    for table in repeated:
                        if not (table.endswith("_1h") and rest_s):
                            repeat_counters(conn, table, passed_s)
                    if not rest_s:
                        for table in (*JOB_TABLES, "event"):
                            repeat_rows(conn, table, hour)
                        fill_log(conn, url)
                    # Before the maintenance it is the most that the disk holds.
                    most = {name: max(mb, most.get(name, 0)) for name, mb in measure(conn, home).items()}
                    assert maintain_database(url)["failed"] == {}
                    vacuum_due(conn)
                    if passed_s % (EVERY_H * HOUR_S) == 0:
                        print(json.dumps({"hour": hour, "mb": measure(conn, home), "most_mb": most}), flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
