"""Removal of a fabric with all its data: counters in steps of one chunk each, and the rest in one transaction.

The data are counted before the removal. The fabric exists until the last transaction, so that an interrupted removal can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict

import psycopg
from psycopg import sql

from flitwatch_db.fabrics import store
from flitwatch_db.fabrics.store import FabricRow
from flitwatch_db.jobs import store as jobs
from flitwatch_db.jobs.arrays import place_ranks
from flitwatch_domain.errors import Conflict

Conn = psycopg.Connection[Any]
#: Called before each table with (done, total, what).
OnStep = Callable[[int, int, str], object]

#: A fabric with counters within this time is still in use: collectors poll every 10 to 30 s.
FED_S = 60
#: Number of jobs that are placed again at once.
_JOBS_AT_ONCE = 500
#: Tables without times that contain rows of a fabric.
_PARTS = (
    "router",
    "endpoint",
    "link",
    "route_change",
    "port_total",
    "sample_context",
    "fabric_plane",
    "gap",
    "rollup_due",
)
#: Alerts name their fabric, and so do recommendations, which may refer to a fabric that was removed and imported again.
_NAMED = {
    "alert": sql.SQL("labels ->> 'fabric' = %(name)s"),
    "recommendation": sql.SQL("fabric_id = %(fabric)s OR fabric = %(name)s"),
}
#: A task's request contains its fabric.
_ASKED = """jsonb_path_exists(args, '$.**.fabric ? (@ == $name || @ == $number)',
    jsonb_build_object('name', %(name)s::text, 'number', %(fabric)s::text))"""


@dataclass(frozen=True)
class Held:
    """Stored data of a fabric.

    Attributes
    ----------
    rows : dict             {table: rows}, including time-series tables
    jobs : int              jobs placed on it, which will be placed again
    left : list of str      remaining references: rules and silences of the site, one line each
    """

    rows: dict[str, int]
    jobs: int
    left: list[str]


def count_stored(conn: Conn, name_or_id: str | int) -> Held:
    """Count the data that `remove_fabric` would remove, without changes. Raise NotFound if the fabric does not exist. Raise Conflict if it is in use,
    as in `remove_fabric`."""
    row = store.get_fabric_row(conn, name_or_id)
    _refuse_in_use(conn, row)
    rows: dict[str, int] = {}
    for table, condition in (_list_conditions() | _list_time_tables(conn)).items():
        rows[table] = _fetch_number(
            conn, sql.SQL("SELECT count(*) FROM {} WHERE {}").format(sql.Identifier(table), condition), row
        )
    on_it = _fetch_number(
        conn, sql.SQL("SELECT count(DISTINCT job_pk) FROM job_node WHERE fabric_id = %(fabric)s"), row
    )
    return Held({table: count for table, count in rows.items() if count}, on_it, _list_references(conn, row))


def remove_fabric(conn: Conn, name_or_id: str | int, on_step: OnStep = lambda done, total, what: None) -> Held:
    """Remove a fabric with all its data; a new import with the same name starts empty.

    Its jobs are placed again: on another fabric with their nodes, or on none. Their network-noise values are kept. Archives and backups are not
    changed.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `owner`, in autocommit mode: every chunk of counters is a separate transaction.

    Returns
    -------
    Held
        The removed data.

    Raises
    ------
    NotFound
        The fabric does not exist.
    Conflict
        Counters still arrive, its tables are staged for a subnet manager, or a task uses it. Then nothing is removed, or only some of its counters
        if new ones arrived in the meantime.
    """
    row = store.get_fabric_row(conn, name_or_id)
    _refuse_in_use(conn, row)
    references = _list_references(conn, row)
    parameters = _build_parameters(row)
    times = _list_time_tables(conn)
    _lift_decompression_limit(conn)
    with conn.transaction():
        # A roll-up reads this table from start to end: after the lock none of this fabric runs, and without marks none begins.
        conn.execute("LOCK TABLE rollup_due IN ACCESS EXCLUSIVE MODE")
        conn.execute("DELETE FROM rollup_due WHERE fabric_id = %(fabric)s", parameters)
    rows: dict[str, int] = {}
    for done, (table, condition) in enumerate(times.items()):
        on_step(done, len(times) + 1, table)
        rows[table] = _remove_by_chunk(conn, table, condition, parameters)
    on_step(len(times), len(times) + 1, row.name)
    with conn.transaction():
        # A writer shares the fabric's row while it adds counters: this waits for it, and later writers find no fabric.
        conn.execute("SELECT FROM fabric WHERE fabric_id = %(fabric)s FOR UPDATE", parameters)
        _refuse_in_use(conn, row)
        for table, condition in (times | _list_conditions()).items():
            delete = sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(table), condition)
            rows[table] = rows.get(table, 0) + conn.execute(delete, parameters).rowcount
        placed = _place_anew(conn, row.fabric_id)
        conn.execute("DELETE FROM fabric WHERE fabric_id = %(fabric)s", parameters)
    # Jobs that were stored in the meantime.
    placed += _place_anew(conn, row.fabric_id)
    on_step(len(times) + 1, len(times) + 1, "")
    return Held({table: count for table, count in rows.items() if count}, placed, references)


class _Asked(TypedDict):
    """Parameters of all statements."""

    fabric: int
    name: str


def _build_parameters(row: FabricRow) -> _Asked:
    return {"fabric": row.fabric_id, "name": row.name}


def _fetch_number(conn: Conn, query: sql.SQL | sql.Composed, row: FabricRow) -> int:
    count_row = conn.execute(query, _build_parameters(row)).fetchone()
    return 0 if count_row is None else int(count_row[0])


def _list_conditions() -> dict[str, sql.Composable]:
    """Return tables without times, and the condition for a fabric's rows."""
    return {**_NAMED, **dict.fromkeys(_PARTS, sql.SQL("fabric_id = %(fabric)s"))}


def _list_time_tables(conn: Conn) -> dict[str, sql.Composable]:
    """Return time-series tables with a fabric's rows, and the condition for them."""
    own = sql.SQL("fabric_id = %(fabric)s")
    sampled = sql.SQL("context_id IN (SELECT context_id FROM sample_context WHERE fabric_id = %(fabric)s)")
    rows = conn.execute(
        "SELECT t.name, c.column_name FROM time_table t JOIN information_schema.columns c ON c.table_schema = 'flitwatch' AND c.table_name = t.name"
        " WHERE c.column_name IN ('fabric_id', 'context_id') ORDER BY t.name"
    ).fetchall()
    return {str(name): own if column == "fabric_id" else sampled for name, column in rows}


def _lift_decompression_limit(conn: Conn) -> None:
    """Allow this session to delete from compressed chunks: TimescaleDB's full edition otherwise limits this to 100,000 rows per transaction."""
    conn.execute(
        "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'timescaledb.max_tuples_decompressed_per_dml_transaction'"
    )


def _remove_by_chunk(conn: Conn, table: str, condition: sql.Composable, asked: _Asked) -> int:
    """Delete the rows of a time-series table, at most one chunk's time span per transaction; return their number."""
    chunk: timedelta
    (chunk,) = conn.execute("SELECT chunk FROM time_table WHERE name = %s", [table]).fetchone() or (timedelta(hours=1),)
    oldest = sql.SQL("SELECT min(ts) FROM {} WHERE {}").format(sql.Identifier(table), condition)
    delete = sql.SQL("DELETE FROM {} WHERE {} AND ts >= %(from)s AND ts < %(to)s").format(
        sql.Identifier(table), condition
    )
    removed = 0
    while (first := (conn.execute(oldest, asked).fetchone() or (None,))[0]) is not None:
        removed += conn.execute(delete, {**asked, "from": first, "to": first + chunk}).rowcount
    return removed


def _place_anew(conn: Conn, fabric_id: int) -> int:
    """Place the jobs of a fabric without endpoints again; return the number of placed jobs."""
    placed = 0
    query = "SELECT DISTINCT job_pk FROM job_node WHERE fabric_id = %s LIMIT %s"
    while job_pks := [row[0] for row in conn.execute(query, [fabric_id, _JOBS_AT_ONCE]).fetchall()]:
        with conn.transaction():
            jobs.place_jobs(conn, job_pks)
            runs = conn.execute("SELECT run_id FROM run WHERE job_pk = ANY(%s)", [job_pks]).fetchall()
            place_ranks(conn, [run_id for (run_id,) in runs])
        placed += len(job_pks)
    return placed


def _list_references(conn: Conn, row: FabricRow) -> list[str]:
    """Return the rules and silences that name the fabric, one line each."""
    rules = "SELECT name FROM alert_rule WHERE rule #>> '{where,fabric}' = %(name)s ORDER BY 1"
    silences = (
        "SELECT silence_id FROM alert_silence WHERE matchers ->> 'fabric' = %(name)s AND ends_at > now() ORDER BY 1"
    )
    return [
        f"alert rule {name} is kept: it is for {row.name}" for (name,) in conn.execute(rules, _build_parameters(row))
    ] + [
        f"silence {number} is kept: it is for {row.name}"
        for (number,) in conn.execute(silences, _build_parameters(row))
    ]


def _refuse_in_use(conn: Conn, row: FabricRow) -> None:
    """Raise Conflict if a process writes the fabric's counters, a subnet manager has its tables, or a task uses it."""
    fed = conn.execute(
        "SELECT extract(epoch FROM clock_timestamp() - max(at))::float8 FROM event WHERE kind = 'counters'"
        " AND at > clock_timestamp() - make_interval(secs => %(fed)s) AND (payload ->> 'fabric_id')::int = %(fabric)s",
        {**_build_parameters(row), "fed": FED_S},
    ).fetchone()
    if fed is not None and fed[0] is not None:
        raise Conflict(
            f"{row.name} received counters {max(0.0, fed[0]):.0f} s ago",
            advice=f"Stop its collector or import, and try again {FED_S} s later.",
        )
    staged = conn.execute(
        "SELECT recommendation_id, staged_in FROM recommendation WHERE (fabric_id = %(fabric)s OR fabric = %(name)s)"
        " AND staged_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1 LIMIT 1",
        _build_parameters(row),
    ).fetchone()
    if staged is not None:
        raise Conflict(
            f"tables for {row.name} are staged in {staged[1]}, by recommendation {staged[0]}",
            advice=f"Roll them back first: `flitwatch loop rollback {staged[0]}`.",
        )
    task = conn.execute(
        f"SELECT task_id, name FROM task WHERE state IN ('queued', 'running') AND {_ASKED} ORDER BY 1 LIMIT 1",  # noqa: S608
        _build_parameters(row),
    ).fetchone()
    if task is not None:
        raise Conflict(
            f"task {task[0]} ({task[1]}) works on {row.name}",
            advice=f"Wait until it ends, or cancel it: `flitwatch task cancel {task[0]}`.",
        )
