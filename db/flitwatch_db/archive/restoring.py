"""Restore of an archive into a database, unchanged, without duplicates, and without erased users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql

from flitwatch_db.archive import fabrics
from flitwatch_db.archive.folder import Folder
from flitwatch_db.archive.parts import Part, parse_manifest_time
from flitwatch_db.archive.shapes import WIDTHS_S, Shape
from flitwatch_db.archive.writing import OnStep
from flitwatch_db.core.additive import ensure_chunks
from flitwatch_db.core.connection import connect
from flitwatch_db.counters.store import LATEST_TS_S
from flitwatch_db.people import erasure
from flitwatch_domain.counters import LDMS_FOUR, TABLE_II
from flitwatch_domain.errors import BadInput, BadRequest
from flitwatch_domain.fabric import Technology

Conn = psycopg.Connection[Any]
#: Maximum number of hourly partitions for the times of one part's counters; no job needs more.
MOST_HOURS = 10_000

_KEPT = """
    SELECT job_pk, updated_at FROM job WHERE cluster = %(cluster)s AND job_id = %(job_id)s AND restart = %(restart)s FOR UPDATE
"""
#: A free number that this database assigned earlier is used again, so that links to a job's page stay valid.
_NUMBER = """
    SELECT %(pk)s <= coalesce(pg_sequence_last_value(pg_get_serial_sequence({table}, {key})::regclass), 0)
           AND NOT EXISTS (SELECT FROM {relation} WHERE {column} = %(pk)s)
"""

#: Indices of the routers' stalls in a step's rates: of its own routers, and of the others.
_OWN_STALLS = next(i for i, counter in enumerate(TABLE_II) if counter.column == "rt_stall_cycles")
_OTHER_STALLS = LDMS_FOUR.index(TABLE_II[_OWN_STALLS].abbreviation)


@dataclass
class _Found:
    """Numbers of a part's jobs, runs and fabrics in this database."""

    jobs: dict[int, int] = field(default_factory=dict)
    new_jobs: set[int] = field(default_factory=set)
    runs: dict[int, int] = field(default_factory=dict)
    fabrics: dict[str, tuple[int, dict[str, int]]] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)
    erased_runs: set[int] = field(default_factory=set)
    rows: Counter[str] = field(default_factory=Counter)


class RestoredArchive(TypedDict):
    """Summary of a restore: parts read, rows by table, and `erased`, the number of omitted jobs."""

    folder: str
    parts: int
    jobs: int
    runs: int
    fabrics: int
    erased: int
    rows: dict[str, int]


def restore_archive(
    url: str, folder: Path, *, months: Sequence[str] = (), on_step: OnStep = lambda done, total, what: None
) -> RestoredArchive:
    """Write an archive's rows that are missing in the database; existing rows are kept unless they are older.

    Everything is verified before anything is written; each part is written in one transaction. Restored counters have the same retention as
    new ones. Jobs of users who were erased from this database are omitted if they began before the erasure.

    Parameters
    ----------
    months : sequence of str
        Only these (`2026-03`).

    Raises
    ------
    BadInput
        A file is missing, damaged, or violates the format; the message names it.
    BadRequest, Conflict
        The folder is not an archive, or is in use; or it does not have one of the months.
    """
    with Folder(folder) as archive_folder:
        absent = sorted(set(months) - set(archive_folder.months()))
        if absent:
            raise BadRequest(
                f"the archive has no month {absent[0]!r}", advice=f"It has: {', '.join(archive_folder.months())}."
            )
        parts = archive_folder.parts(months or None)
        steps = 2 * len(parts)
        for done, part in enumerate(parts):
            on_step(done, steps, f"verifying {part.shown}")
            part.verify()
        total: Counter[str] = Counter()
        written = 0
        with connect(url, role="owner", application="flitwatch restore", autocommit=True) as conn:
            for done, part in enumerate(parts, len(parts)):
                with conn.transaction():
                    restored = _restore_part(conn, archive_folder, part, partial(on_step, done, steps))
                total += restored.rows
                written += len(restored.erased)
        on_step(steps, steps, "")
    fabrics_written = total.pop("fabric", 0)
    return {
        "folder": str(folder),
        "parts": len(parts),
        "jobs": total["job"],
        "runs": total["run"],
        "fabrics": fabrics_written,
        "erased": written,
        "rows": {table: count for table, count in sorted(total.items()) if count},
    }


def _restore_part(conn: Conn, folder: Folder, part: Part, say: Callable[[str], object]) -> _Found:
    restored = _Found()
    say(f"restoring {part.shown}")
    named = part.manifest.get("fabrics")
    if not isinstance(named, list) or not all(isinstance(entry, str) for entry in named):
        raise BadInput("the fabrics are not a list of names", where=part.shown)
    for digest in named:
        fabric_id, sizes, new = fabrics.restore_fabric(conn, folder.fabric(digest))
        restored.fabrics[digest] = fabric_id, sizes
        restored.rows["fabric"] += new
    _restore_jobs(conn, part, restored)
    _restore_runs(conn, part, restored)
    for name in ("job_node", "job_step", "run_rank", "run_step", "run_step_around", "run_step_nic", "forecast"):
        if name not in part.shapes:
            continue
        say(f"restoring {part.shown} {name}")
        _copy_rows(conn, part, part.shapes[name], restored, say)
    for name in WIDTHS_S:
        say(f"restoring {part.shown} {name}")
        _copy_rows(conn, part, part.shapes[name], restored, say)
    return restored


def _restore_jobs(conn: Conn, part: Part, found: _Found) -> None:
    where, shape = f"{part.shown}/job.parquet", part.shapes["job"]
    gone = erasure.Erased(conn)
    for row in part.rows("job"):
        if row["simulated"] is not part.manifest.get("simulated"):
            raise BadInput(f"job {row['job_id']!r} has another label than its part", where=where)
        if gone.holds(row["user_name"], row["start_ts"] or row["submit_ts"] or row["end_ts"]):
            found.erased.add(row["job_pk"])
            continue
        there = _run_sql(conn, _KEPT, row, where).fetchone()
        if there is not None and there[1] >= row["updated_at"]:
            found.jobs[row["job_pk"]] = there[0]
            continue
        if there is not None:
            # Then its nodes and steps come from the archive too.
            for table in ("job_node", "job_step"):
                conn.execute(sql.SQL("DELETE FROM {} WHERE job_pk = %s").format(sql.Identifier(table)), [there[0]])
            _update_job(conn, shape, row, there[0], where)
        job_pk = there[0] if there is not None else _insert_row(conn, shape, row, where)
        conn.execute(
            "INSERT INTO restored_job (job_pk) VALUES (%s) ON CONFLICT (job_pk) DO UPDATE SET restored_at = now()",
            [job_pk],
        )
        found.jobs[row["job_pk"]] = job_pk
        found.new_jobs.add(row["job_pk"])
        found.rows["job"] += 1


def _restore_runs(conn: Conn, part: Part, found: _Found) -> None:
    where, shape = f"{part.shown}/run.parquet", part.shapes["run"]
    for row in part.rows("run"):
        if row["simulated"] is not part.manifest.get("simulated"):
            raise BadInput(f"run {row['run_key']!r} has another label than its part", where=where)
        if row["job_pk"] in found.erased:
            found.erased_runs.add(row["run_id"])
            continue
        if row["job_pk"] is not None:
            if row["job_pk"] not in found.jobs:
                raise BadInput(f"run {row['run_key']!r} belongs to a job that is missing", where=where)
            row["job_pk"] = found.jobs[row["job_pk"]]
        there = _run_sql(conn, "SELECT run_id FROM run WHERE run_key = %(run_key)s FOR UPDATE", row, where).fetchone()
        if there is None:
            found.runs[row["run_id"]] = _insert_row(conn, shape, row, where)
            found.rows["run"] += 1
            continue
        found.runs[row["run_id"]] = there[0]
        conn.execute("UPDATE run SET job_pk = %s WHERE run_id = %s AND job_pk IS NULL", [row["job_pk"], there[0]])


def _list_columns(shape: Shape) -> list[str]:
    return [column.name for column in shape.columns if column.name not in shape.extra]


def _insert_row(conn: Conn, shape: Shape, row: dict[str, Any], where: str) -> int:
    """Insert a job or run; return its number."""
    names = _list_columns(shape)
    key = names[0]
    free = conn.execute(
        sql.SQL(_NUMBER).format(
            table=sql.Literal(f"flitwatch.{shape.name}"),
            key=sql.Literal(key),
            relation=sql.Identifier(shape.name),
            column=sql.Identifier(key),
        ),
        {"pk": row[key]},
    ).fetchone()
    names = names if free is not None and free[0] else names[1:]
    query = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({}) RETURNING {}").format(
        sql.Identifier(shape.name),
        sql.SQL(", ").join(map(sql.Identifier, names)),
        sql.SQL(", ").join(map(sql.Placeholder, names)),
        sql.Identifier(key),
    )
    new_row = _run_sql(conn, query, row, where).fetchone()
    assert new_row is not None
    return int(new_row[0])


def _update_job(conn: Conn, shape: Shape, row: dict[str, Any], number: int, where: str) -> None:
    """Update an existing job with the archive's values."""
    sets = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in _list_columns(shape)[1:]
    )
    _run_sql(conn, sql.SQL("UPDATE job SET {} WHERE job_pk = %(there)s").format(sets), row | {"there": number}, where)


def _copy_rows(conn: Conn, part: Part, shape: Shape, found: _Found, say: Callable[[str], object]) -> None:
    """Copy a table's rows whose jobs or runs are known to a staging table, and from there those missing in the database."""
    where = f"{part.shown}/{shape.name}.parquet"
    names = ["fabric_id" if column.type == "fabric" else column.name for column in shape.columns]
    listed = sql.SQL(", ").join(map(sql.Identifier, names))
    staging = sql.Identifier("pg_temp", f"restored_{shape.name}")
    conn.execute(
        sql.SQL("CREATE TEMPORARY TABLE IF NOT EXISTS {} AS SELECT {} FROM {} WITH NO DATA").format(
            sql.Identifier(f"restored_{shape.name}"), listed, sql.Identifier(shape.name)
        )
    )
    span = (
        parse_manifest_time(part.manifest, "from", part.shown),
        parse_manifest_time(part.manifest, "to", part.shown),
    )
    hours: set[int] = set()
    technologies = dict(conn.execute("SELECT fabric_id, technology FROM fabric").fetchall())
    of_runs = (
        _load_technologies(conn, found) if shape.name == "run_step_around" and part.in_own_counts("router_1h") else {}
    )
    own_counts = [i for i, column in enumerate(shape.columns) if column.name in part.in_own_counts(shape.name)]
    for batch in part.read(shape.name):
        if shape.name in WIDTHS_S:
            hours |= set(_collect_hours(batch, shape, span, where))
            if len(hours) > MOST_HOURS:
                raise BadInput(f"counters of more than {MOST_HOURS} hours", where=where)
            ensure_chunks(conn, shape.name, np.array(sorted(hours), dtype=np.int64) * 3600)
        rows = [
            steps_in_times(in_times(row, shape, own_counts, technologies), of_runs)
            for row in _renumber_rows(batch, shape, found, where)
        ]
        try:
            with conn.cursor() as cursor:
                cursor.execute(sql.SQL("TRUNCATE {}").format(staging))
                with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(staging, listed)) as copy:
                    copy.set_types([column.postgres for column in shape.columns])
                    for row in rows:
                        copy.write_row(row)
                cursor.execute(
                    sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ON CONFLICT DO NOTHING").format(
                        sql.Identifier(shape.name), listed, listed, staging
                    )
                )
                found.rows[shape.name] += cursor.rowcount
                if shape.name == "router_1h" and cursor.rowcount:
                    # Sums of the whole fabric are not archived: maintenance recomputes them.
                    cursor.execute(
                        sql.SQL(
                            "INSERT INTO rollup_due (fabric_id, hour) SELECT DISTINCT fabric_id, ts FROM {}"
                        ).format(staging)
                    )
        except (psycopg.DataError, psycopg.IntegrityError) as problem:
            raise _make_refusal(problem, where) from None
        say(f"restoring {part.shown} {shape.name}")


def _collect_hours(batch: pa.RecordBatch, shape: Shape, span: tuple[datetime, datetime], where: str) -> list[int]:
    """Return the hours of the rows' times; raise if a time is outside the jobs' span."""
    ts_us = batch.column(2).cast(pa.int64()).to_numpy()
    first = max((span[0] - timedelta(seconds=WIDTHS_S[shape.name])).timestamp(), 0) * 1e6
    last = min(span[1].timestamp(), LATEST_TS_S) * 1e6
    if len(ts_us) and not (first <= ts_us.min() and ts_us.max() <= last):
        odd = datetime.fromtimestamp(0, UTC) + timedelta(
            microseconds=int(ts_us.max() if ts_us.max() > last else ts_us.min())
        )
        raise BadInput(f"a counter of {odd} is outside the part's jobs", where=where)
    return [int(hour) for hour in np.unique(ts_us // 3_600_000_000)]


def in_times(
    row: tuple[Any, ...], shape: Shape, own_counts: Sequence[int], technologies: Mapping[int, str]
) -> tuple[Any, ...]:
    """Convert a row's stalls to data-count times: InfiniBand's ticks are two words each; Ethernet's become unknown, since no port's speed is known (ADR 0047)."""
    at = next((i for i, column in enumerate(shape.columns) if column.type == "fabric"), None)
    technology = technologies.get(row[at]) if at is not None else None
    if not own_counts or technology not in (Technology.INFINIBAND, Technology.ETHERNET):
        return row

    def made(value: Any) -> Any:
        return [made(item) for item in value] if isinstance(value, list) else _in_times(value, technology)

    return tuple(made(value) if i in own_counts else value for i, value in enumerate(row))


def steps_in_times(row: tuple[Any, ...], technologies: Mapping[int, str]) -> tuple[Any, ...]:
    """Convert the stall rates of a run_step_around row, from an archive in the devices' own counts, as in `in_times`; `technologies` by run."""
    technology = technologies.get(row[0])
    if technology not in (Technology.INFINIBAND, Technology.ETHERNET):
        return row
    run_id, step, *rates = row
    new_rates = [
        values and [_in_times(value, technology) if i == stalls else value for i, value in enumerate(values)]
        for values, stalls in zip(rates, (_OWN_STALLS, _OTHER_STALLS, _OTHER_STALLS), strict=True)
    ]
    return run_id, step, *new_rates


def _in_times(value: float | None, technology: str | None) -> float | None:
    return 2.0 * value if value is not None and technology == Technology.INFINIBAND else None


def _load_technologies(conn: Conn, found: _Found) -> dict[int, str]:
    """Return, by run, the technology of the fabric with most of its nodes, to which its steps' rates refer (`flitwatch_db.estimates.step_counters`)."""
    rows = conn.execute(
        "SELECT r.run_id, f.technology FROM run r CROSS JOIN LATERAL (SELECT n.fabric_id FROM job_node n WHERE n.job_pk = r.job_pk"
        " AND n.router IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) n JOIN fabric f USING (fabric_id) WHERE r.run_id = ANY(%s)",
        [list(found.runs.values())],
    )
    return dict(rows.fetchall())


def _renumber_rows(batch: pa.RecordBatch, shape: Shape, found: _Found, where: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows with this database's numbers, without those of jobs that stay unchanged or were erased."""
    first = shape.columns[0].name
    columns = [array.to_pylist() for array in batch.columns]
    fabric_at = next((i for i, column in enumerate(shape.columns) if column.type == "fabric"), None)
    places = [
        (i, shape.columns[i].name) for i in range(len(columns)) if shape.columns[i].name in ("router", "endpoint")
    ]
    for row in map(list, zip(*columns, strict=True)):
        if fabric_at is not None and row[fabric_at] is not None:
            if row[fabric_at] not in found.fabrics:
                raise BadInput(f"fabric {row[fabric_at][:80]!r} is not the part's", where=where)
            row[fabric_at], sizes = found.fabrics[row[fabric_at]]
            for at, table in places:
                if row[at] is not None and not 0 <= row[at] < sizes[table]:
                    raise BadInput(f"{table} {row[at]} is not in its fabric", where=where)
        if first == "job_pk":
            if row[0] in found.erased:
                continue
            if row[0] not in found.jobs:
                raise BadInput("a row belongs to a job that is missing", where=where)
            if row[0] not in found.new_jobs:
                continue
            row[0] = found.jobs[row[0]]
        elif first == "run_id":
            if row[0] in found.erased_runs:
                continue
            if row[0] not in found.runs:
                raise BadInput("a row belongs to a run that is missing", where=where)
            row[0] = found.runs[row[0]]
        yield tuple(row)


def _run_sql(conn: Conn, query: Any, row: dict[str, Any], where: str) -> psycopg.Cursor[Any]:
    try:
        return conn.execute(query, row)
    except (psycopg.DataError, psycopg.IntegrityError) as problem:
        raise _make_refusal(problem, where) from None


def _make_refusal(problem: Exception, where: str) -> BadInput:
    return BadInput(f"the database refuses it: {str(problem).splitlines()[0][:200]}", where=where)
