"""Archiving of ended jobs from the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, TypedDict

import psycopg
import pyarrow as pa
from psycopg import sql

from flitwatch_db.archive import fabrics
from flitwatch_db.archive.folder import PART, Folder, Key
from flitwatch_db.archive.parts import BATCH_ROWS, Manifest, ManifestHead
from flitwatch_db.archive.shapes import SHAPES, WIDTHS_S, Shape
from flitwatch_db.core.connection import connect, detect_edition
from flitwatch_db.migrations import list_migrations
from flitwatch_domain.errors import BadInput, BadRequest, NotFound

Conn = psycopg.Connection[Any]
#: Callback with (done, total, what), called often; it may raise an exception to stop.
OnStep = Callable[[int, int, str], object]

#: Jobs per part: few enough that a killed archive loses little, many enough that files are not tiny.
PART_JOBS = 200

_CANDIDATES = """
    SELECT 'job' AS kind, j.job_pk AS pk, to_char(j.end_ts AT TIME ZONE 'UTC', 'YYYY-MM') AS month, j.simulated, j.cluster, j.job_id AS name,
    j.restart,
           j.updated_at, coalesce(s.steps, 0) AS steps
    FROM job j LEFT JOIN (SELECT r.job_pk, count(*) AS steps FROM run r JOIN run_step USING (run_id) GROUP BY 1) s USING (job_pk)
    WHERE j.end_ts IS NOT NULL AND (j.end_ts < %(before)s OR j.job_id = ANY(%(jobs)s) AND (%(cluster)s::text IS NULL OR j.cluster = %(cluster)s))
    UNION ALL
    SELECT 'run', r.run_id, to_char(r.start_ts AT TIME ZONE 'UTC', 'YYYY-MM'), r.simulated, '', r.run_key, 0, NULL,
           (SELECT count(*) FROM run_step s WHERE s.run_id = r.run_id)
    FROM run r WHERE r.job_pk IS NULL AND r.start_ts < %(before)s
    ORDER BY month, simulated, pk
"""
_SPANS = """
    WITH wide AS (
        SELECT n.fabric_id, n.{device} AS device, tstzrange(j.start_ts - {width}::interval, j.end_ts, '()') AS span
        FROM job j JOIN job_node n USING (job_pk)
        WHERE j.job_pk = ANY(%(jobs)s) AND n.{device} IS NOT NULL AND j.start_ts - {width}::interval < j.end_ts
    ), merged AS (SELECT fabric_id, device, unnest(range_agg(span)) AS span FROM wide GROUP BY 1, 2)
    SELECT fabric_id, lower(span), upper(span), array_agg(device ORDER BY device) FROM merged GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
_OF_JOBS = {name: sql.SQL("job_pk = ANY(%(jobs)s)") for name in ("job", "job_node", "job_step")}
_OF_RUNS = {
    name: sql.SQL("run_id = ANY(%(runs)s)")
    for name in ("run", "run_rank", "run_step", "run_step_around", "run_step_nic", "forecast")
}


@dataclass(frozen=True)
class Candidate:
    """A job, or a run without a job, that may be archived."""

    pk: int
    month: str
    simulated: bool
    key: Key


class WrittenArchive(TypedDict):
    """Summary of a written archive: jobs, runs without a job, entries already present, new parts, rows by table, and bytes."""

    folder: str
    jobs: int
    runs: int
    already: int
    parts: list[str]
    rows: dict[str, int]
    bytes: int


def write_archive(
    url: str,
    out: Path,
    *,
    before: datetime | None = None,
    jobs: Sequence[str] = (),
    cluster: str | None = None,
    on_step: OnStep = lambda done, total, what: None,
    part_jobs: int = PART_JOBS,
    create: bool = True,
) -> WrittenArchive:
    """Write ended jobs, their steps and runs, and the counters of their routers and endpoints while they ran, to an archive.

    Existing entries of the archive are skipped. A cancelled or killed archive therefore continues where it ended, and a later one adds new or
    changed jobs.

    Parameters
    ----------
    out : Path
        An existing archive, or a new or empty folder.
    before : datetime, optional
        Select jobs that ended, and runs without a job that began, before this time.
    jobs : sequence of str
        Select jobs by their ids as the scheduler prints them, of `cluster` if given.
    create : bool
        Create the archive if it does not exist.
    on_step : callable(done, total, what)
        Jobs done and in total; called several times per second.
    part_jobs : int
        Jobs per part, which is written completely or not at all.

    Raises
    ------
    BadRequest, Conflict
        The folder is not an archive, or is in use; neither a date nor jobs are given, or a job has not ended.
    NotFound
        A given job does not exist.
    Unavailable
        The disk is full, or the database is unavailable.
    """
    if before is None and not jobs:
        raise BadRequest("neither a date nor jobs were given", advice="Use --before or --jobs.")
    with connect(url, role="reader", application="flitwatch archive", autocommit=True) as conn:
        entries = find_candidates(conn, before, jobs, cluster)
        with Folder(out, create=create) as folder:
            archived_keys = folder.known(sorted({candidate.month for candidate in entries}))
            new = [candidate for candidate in entries if candidate.key not in archived_keys]
            parts: list[str] = []
            rows, size_bytes = dict.fromkeys(SHAPES, 0), 0
            done = 0
            for (month, simulated), group in groupby(new, key=lambda candidate: (candidate.month, candidate.simulated)):
                members = list(group)
                for first in range(0, len(members), part_jobs):
                    some = members[first : first + part_jobs]
                    manifest = _write_part(conn, folder, month, simulated, some, partial(on_step, done, len(new)))
                    parts.append(manifest["part"])
                    for table, file in manifest["files"].items():
                        rows[table] += file["rows"]
                        size_bytes += file["bytes"]
                    done += len(some)
            on_step(len(new), len(new), "")
    runs = sum(candidate.key.kind == "run" for candidate in new)
    return {
        "folder": str(out),
        "jobs": len(new) - runs,
        "runs": runs,
        "already": len(entries) - len(new),
        "parts": parts,
        "rows": rows,
        "bytes": size_bytes,
    }


def find_candidates(
    conn: Conn, before: datetime | None, jobs: Sequence[str] = (), cluster: str | None = None
) -> list[Candidate]:
    """Find jobs and runs without a job that ended before a time, and jobs by id; ordered by month, measured first."""
    if jobs:
        there = dict(
            conn.execute(
                "SELECT job_id, bool_or(end_ts IS NOT NULL) FROM job WHERE job_id = ANY(%(jobs)s)"
                " AND (%(cluster)s::text IS NULL OR cluster = %(cluster)s) GROUP BY 1",
                {"jobs": list(jobs), "cluster": cluster},
            ).fetchall()
        )
        for job in jobs:
            if job not in there:
                raise NotFound(f"there is no job {job!r}", advice="Write the id as the scheduler prints it.")
            if not there[job]:
                raise BadRequest(f"job {job!r} has not ended", advice="Archive it after its end.")
    rows = conn.execute(_CANDIDATES, {"before": before, "jobs": list(jobs), "cluster": cluster}).fetchall()
    return [
        Candidate(pk, month, simulated, Key(kind, of, name, restart, updated_at, steps))
        for kind, pk, month, simulated, of, name, restart, updated_at, steps in rows
    ]


def _write_part(
    conn: Conn, folder: Folder, month: str, simulated: bool, some: Sequence[Candidate], say: Callable[[str], object]
) -> Manifest:
    """Write one part from a single snapshot of the database."""
    place = folder.next_place(month, simulated)
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        say(place)
        chosen = {
            "jobs": [candidate.pk for candidate in some if candidate.key.kind == "job"],
            "lonely": [candidate.pk for candidate in some if candidate.key.kind == "run"],
        }
        runs = conn.execute(
            "SELECT run_id FROM run WHERE job_pk = ANY(%(jobs)s) OR run_id = ANY(%(lonely)s)", chosen
        ).fetchall()
        chosen["runs"] = [row[0] for row in runs]
        about = _build_manifest_head(conn, place, simulated, chosen)
        ids = conn.execute(
            "SELECT DISTINCT fabric_id FROM job_node WHERE job_pk = ANY(%(jobs)s) AND fabric_id IS NOT NULL", chosen
        )
        digests = {row[0]: fabrics.compute_fabric_digest(conn, row[0]) for row in ids.fetchall()}
        for fabric_id, digest in digests.items():
            if not folder.has_fabric(digest):
                fabrics.archive_fabric(conn, folder, fabric_id, digest, about["made_at"], about["code_version"])
        with folder.write(place, {**about, "fabrics": sorted(digests.values())}) as writer:
            for shape in SHAPES.values():
                say(f"{place} {shape.name}")
                writer.write(shape, _read_batches(conn, shape, chosen, digests, say, f"{place} {shape.name}"))
            return writer.commit()


def _build_manifest_head(conn: Conn, place: str, simulated: bool, chosen: dict[str, Any]) -> ManifestHead:
    row = conn.execute(
        "SELECT least((SELECT min(coalesce(start_ts, end_ts)) FROM job WHERE job_pk = ANY(%(jobs)s)),"
        " (SELECT min(start_ts) FROM run WHERE run_id = ANY(%(runs)s))), greatest((SELECT max(greatest(start_ts, end_ts)) FROM job"
        " WHERE job_pk = ANY(%(jobs)s)), (SELECT max(start_ts) FROM run WHERE run_id = ANY(%(runs)s))),"
        " ARRAY(SELECT DISTINCT cluster FROM job WHERE job_pk = ANY(%(jobs)s) ORDER BY 1), current_setting('server_version')",
        chosen,
    ).fetchone()
    assert row is not None
    return {
        "format": PART,
        "part": place,
        "label": "SIMULATED" if simulated else "measured",
        "simulated": simulated,
        "made_at": datetime.now(UTC).isoformat(),
        "code_version": version("flitwatch"),
        "migration": list_migrations()[-1].name,
        "server_version": row[3],
        "edition": detect_edition(conn),
        "clusters": row[2],
        "jobs": len(chosen["jobs"]),
        "runs": len(chosen["runs"]),
        "from": row[0].isoformat(),
        "to": row[1].isoformat(),
        "replaces": None,
    }


def _read_batches(
    conn: Conn, shape: Shape, chosen: dict[str, Any], digests: dict[int, str], say: Callable[[str], object], what: str
) -> Iterator[pa.RecordBatch]:
    rows = (
        _read_counters(conn, shape, chosen)
        if shape.name in WIDTHS_S
        else _stream_rows(conn, _build_select(shape, (_OF_JOBS | _OF_RUNS)[shape.name]), chosen)
    )
    pending_rows: list[tuple[Any, ...]] = []
    for row in rows:
        pending_rows.append(row)
        if len(pending_rows) == BATCH_ROWS:
            yield to_record_batch(shape, pending_rows, digests)
            pending_rows = []
            say(what)
    if pending_rows:
        yield to_record_batch(shape, pending_rows, digests)


def to_record_batch(shape: Shape, rows: Sequence[tuple[Any, ...]], digests: dict[int, str]) -> pa.RecordBatch:
    """Convert a table's rows to Arrow; ids of fabrics become digests."""
    arrays = []
    for column, values in zip(shape.columns, zip(*rows, strict=True), strict=True):
        if column.type == "fabric":
            values = tuple(None if value is None else digests[value] for value in values)
        try:
            arrays.append(pa.array(values, column.arrow))
        except (pa.ArrowInvalid, OverflowError) as problem:
            raise BadInput(
                f"column {column.name!r} of {shape.name} does not fit the archive: {str(problem)[:200]}"
            ) from None
    return pa.record_batch(arrays, shape.schema)


def _build_select(shape: Shape, condition: sql.Composable, order: sql.Composable = sql.SQL("")) -> sql.Composed:
    columns: list[sql.Composable] = []
    for column in shape.columns:
        if column.name == "run_steps":
            of = "r.job_pk = job.job_pk" if shape.name == "job" else "r.run_id = run.run_id"
            columns.append(
                sql.SQL("(SELECT count(*) FROM run r JOIN run_step USING (run_id) WHERE {})").format(sql.SQL(of))
            )
        else:
            columns.append(sql.Identifier("fabric_id" if column.type == "fabric" else column.name))
    return sql.SQL("SELECT {} FROM {} WHERE {} {}").format(
        sql.SQL(", ").join(columns), sql.Identifier(shape.name), condition, order or sql.SQL("ORDER BY 1, 2")
    )


def _read_counters(conn: Conn, shape: Shape, chosen: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield counters of the jobs' devices while one of the jobs ran there, each row once even if jobs share a router."""
    device = shape.columns[1].name
    spans = conn.execute(
        sql.SQL(_SPANS).format(device=sql.Identifier(device), width=sql.Literal(f"{WIDTHS_S[shape.name]} seconds")),
        chosen,
    ).fetchall()
    condition = sql.SQL("fabric_id = %(fabric)s AND {} = ANY(%(devices)s) AND ts > %(from)s AND ts < %(to)s").format(
        sql.Identifier(device)
    )
    query = _build_select(shape, condition, sql.SQL("ORDER BY fabric_id, ts, {}").format(sql.Identifier(device)))
    for fabric_id, begin, end, devices in spans:
        yield from _stream_rows(conn, query, {"fabric": fabric_id, "devices": devices, "from": begin, "to": end})


def _stream_rows(conn: Conn, query: sql.Composed, parameters: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    with conn.cursor(name="archive", binary=True) as cursor:
        cursor.itersize = 20_000
        cursor.execute(query, parameters)
        yield from cursor
