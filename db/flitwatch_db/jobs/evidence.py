"""All evidence about a job as one file: the rows about it, its neighbours and its routers' counters while it ran, as CSV in a ZIP."""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import psycopg
from psycopg.rows import dict_row
from psycopg.sql import SQL, Composed, Identifier

from flitwatch_db.jobs import as_of, explanation, parts
from flitwatch_db.jobs.as_of import end_or
from flitwatch_db.jobs.explanation import explain_by_id
from flitwatch_domain.errors import NotFound
from flitwatch_domain.explanation import slowdown
from flitwatch_domain.explanation.case import Evidence
from flitwatch_domain.explanation.pictures import Line
from flitwatch_domain.table_file import FORMULA


def load_evidence(
    conn: psycopg.Connection[Any], job_id: str, cluster: str | None = None, now_s: float | None = None
) -> Evidence:
    """Load a job's evidence for `flitwatch_domain.explanation.case.render_page`; errors and parameters are those of `explain_by_id`."""
    now_s = time.time() if now_s is None else now_s
    job = as_of.job_at(conn, job_id, cluster, now_s)
    job_explanation = explanation.explain_job(conn, job, now_s, rooted=True)
    steps = explanation.steps_of(conn, job, now_s)
    counters = []
    if job["start_s"] is not None:
        end_s = min(now_s, job["end_s"] if job["end_s"] is not None else now_s)
        job_parts = parts.load_parts(conn, job["job_pk"], job["start_s"], max(end_s, job["start_s"] + 1))
        middle = job_parts.ts.astype(np.float64) + job_parts.step_s / 2
        counters = [(f"{part.label}, {part.unit}", Line(part.label, middle, part.values)) for part in job_parts.parts]
    return Evidence(job_explanation, _build_step_lines(steps) if steps is not None else [], counters)


def _build_step_lines(steps: slowdown.Steps) -> list[Line]:
    usual, _ = slowdown.usual_steps(steps.earlier_s)
    at = slowdown.build_timeline(steps, usual).end_s
    lines = [Line("this run", at, steps.time_s)]
    if len(steps.earlier_s):
        earlier_s = np.full((len(steps.earlier_s), len(at)), np.nan)
        within = steps.step < steps.earlier_s.shape[1]
        earlier_s[:, within] = steps.earlier_s[:, steps.step[within]]
        is_known = np.isfinite(earlier_s).any(axis=0)
        low, middle, high = (np.full(len(at), np.nan) for _ in range(3))
        low[is_known], middle[is_known], high[is_known] = np.nanquantile(
            earlier_s[:, is_known], [0.1, 0.5, 0.9], axis=0
        )
        lines.insert(0, Line(f"{len(steps.earlier_s)} earlier runs, 10 to 90 %", at, middle, low, high, ink="#8a919b"))
    return lines


Conn = psycopg.Connection[Any]
OnTable = Callable[[int, int, str], None]

#: Tables with data about a job: the condition for its rows.
_ABOUT: dict[str, str] = {
    "job": "job_pk = %(job)s",
    "job_node": "job_pk = %(job)s",
    "job_step": "job_pk = %(job)s",
    "job_network_noise": "job_pk = %(job)s",
    "run": "run_id = ANY(%(runs)s)",
    "run_rank": "run_id = ANY(%(runs)s)",
    "run_step": "run_id = ANY(%(runs)s)",
    "run_step_around": "run_id = ANY(%(runs)s)",
    "run_step_nic": "run_id = ANY(%(runs)s)",
    "forecast": "run_id = ANY(%(runs)s)",
    "alert": "labels ->> 'job' = %(job_id)s AND since BETWEEN %(from)s AND %(to)s",
    "recommendation": "job_id = %(job_id)s AND created_at >= %(from)s",
}
#: Counters of its routers, from shortly before its start to its end; the finest expire first (docs/contracts/tables.md).
_COUNTED = ("router_1s", "router_1m", "router_1h", "port_10s")
#: A bucket that began before the job includes its first seconds.
_BUCKET = {"router_1s": "1 second", "router_1m": "1 minute", "router_1h": "1 hour", "port_10s": "10 seconds"}
#: First characters of a formula, and PostgreSQL's numbers of the types with users' texts (text, varchar).
_FORMULA = f"^({'|'.join(map(re.escape, FORMULA))})"
_TEXTS = frozenset({25, 1043})
_NEIGHBOURS = f"""
    SELECT o.job_pk, o.cluster, o.job_id, o.user_name, o.name, o.state, o.start_ts, o.end_ts, o.nodes, n.fabric_id, n.node, n.router
    FROM job o JOIN job_node n USING (job_pk)
    WHERE o.job_pk <> %(job)s AND o.start_ts < %(to)s AND {end_or("'infinity'::timestamptz", "o.")} > %(from)s
      AND n.fabric_id = ANY(%(fabrics)s) AND n.router = ANY(%(routers)s)
      AND (n.fabric_id, n.router) IN (SELECT fabric_id, router FROM job_node WHERE job_pk = %(job)s)
    ORDER BY o.job_pk, n.node
"""  # noqa: S608 - a text of ours


#: A row of table `job`.
Row = Mapping[str, Any]

_JobWindow = TypedDict("_JobWindow", {"from": str, "to": str})


class JobManifest(_JobWindow):
    """Manifest of a job's evidence: the row of the job, its window and the time of the export in ISO format, and rows by table."""

    format: str
    job: Row
    simulated: bool
    made_at: str
    rows: dict[str, int]


#: Parameters of the tables' queries: the job, its runs, its window, and the fabrics and routers of its nodes.
_Chosen = TypedDict(
    "_Chosen",
    {
        "job": int,
        "job_id": str,
        "runs": list[int],
        "from": datetime,
        "to": datetime,
        "fabrics": list[int],
        "routers": list[int],
    },
)


def export_evidence(
    conn: Conn, job_id: str, out: Path, cluster: str | None = None, on_table: OnTable = lambda done, total, what: None
) -> JobManifest:
    """Write a job's evidence; return its manifest, which is also in the file.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `reader`; all tables are read in one transaction, from one snapshot.
    job_id : str
        As the scheduler prints it; the newest job with that id, of a cluster if given.
    out : Path
        A new file, which appears once it is complete.
    on_table : callable(done, total, table), optional

    Raises
    ------
    NotFound
        The job does not exist.
    """
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        job, chosen = _select_job(conn, job_id, cluster)
        queries = _build_queries()
        rows: dict[str, int] = {}
        part = out.with_name(f".{out.name}.part")
        try:
            part.unlink(missing_ok=True)
            # It contains real names, so other users of this machine cannot read it.
            with (
                os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file,
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive,
            ):
                for done, (table, query) in enumerate(queries.items()):
                    on_table(done, len(queries), table)
                    rows[table] = _copy_table(conn, archive, table, query, chosen)
                manifest = {
                    "format": "flitwatch job evidence 1",
                    "job": job,
                    "simulated": job["simulated"],
                    "from": chosen["from"],
                    "to": chosen["to"],
                    "made_at": datetime.now(UTC),
                    "rows": rows,
                }
                explanation = explain_by_id(conn, job["job_id"], job["cluster"], chosen["to"].timestamp())
                archive.writestr("explanation.json", json.dumps(explanation, default=_to_text, indent=1))
                archive.writestr("manifest.json", json.dumps(manifest, default=_to_text, indent=1))
            part.replace(out)
        finally:
            part.unlink(missing_ok=True)
    written: JobManifest = json.loads(json.dumps(manifest, default=_to_text))
    return written


def _to_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _select_job(conn: Conn, job_id: str, cluster: str | None) -> tuple[Row, _Chosen]:
    with conn.cursor(row_factory=dict_row) as cursor:
        job = cursor.execute(
            SQL("SELECT * FROM job ") + as_of.NEWEST, as_of.build_parameters(job_id, cluster)
        ).fetchone()
        if job is None:
            of = f" of cluster {cluster!r}" if cluster else ""
            raise NotFound(f"there is no job {job_id!r}{of}", advice="Write the id as the scheduler prints it.")
        places = cursor.execute(
            "SELECT coalesce(array_agg(DISTINCT fabric_id), '{}') AS fabrics, coalesce(array_agg(DISTINCT router), '{}') AS routers"
            " FROM job_node WHERE job_pk = %s AND router IS NOT NULL",
            [job["job_pk"]],
        ).fetchone()
        runs = cursor.execute("SELECT run_id FROM run WHERE job_pk = %s", [job["job_pk"]]).fetchall()
    assert places is not None
    now = datetime.now(UTC)
    # A job that has not started has no period, and therefore no counters.
    begin, end = job["start_ts"] or now, job["end_ts"] or now
    return job, {
        "job": job["job_pk"],
        "job_id": job["job_id"],
        "runs": [row["run_id"] for row in runs],
        "from": begin,
        "to": end,
        "fabrics": places["fabrics"],
        "routers": places["routers"],
    }


def _build_queries() -> dict[str, Composed]:
    queries = {
        table: SQL("SELECT * FROM {} WHERE {}").format(Identifier(table), SQL(condition))
        for table, condition in _ABOUT.items()
    }
    queries["neighbours"] = SQL(_NEIGHBOURS).format()
    for table in _COUNTED:
        queries[table] = SQL(
            "SELECT * FROM {} WHERE fabric_id = ANY(%(fabrics)s) AND router = ANY(%(routers)s)"
            " AND (fabric_id, router) IN (SELECT fabric_id, router FROM job_node WHERE job_pk = %(job)s)"
            " AND ts > %(from)s::timestamptz - {}::interval AND ts < %(to)s ORDER BY fabric_id, ts, router"
        ).format(Identifier(table), _BUCKET[table])
    return queries


def _copy_table(conn: Conn, archive: zipfile.ZipFile, table: str, query: Composed, chosen: _Chosen) -> int:
    query = _as_text(conn, query, chosen)
    with conn.cursor() as cursor, archive.open(f"{table}.csv", "w", force_zip64=True) as file:
        with cursor.copy(SQL("COPY ({}) TO STDOUT (FORMAT csv, HEADER)").format(query), chosen) as copy:
            for block in copy:
                file.write(block)
        # For COPY, the number of rows without the header.
        return cursor.rowcount


def _as_text(conn: Conn, query: Composed, chosen: _Chosen) -> Composed:
    """Return the query with a quote before texts that a spreadsheet would treat as a formula, and before those that already begin with a quote."""
    shown = conn.execute(SQL("SELECT * FROM ({}) AS t LIMIT 0").format(query), chosen).description or []
    columns = [
        SQL("CASE WHEN {0} ~ {1} THEN {2} || {0} ELSE {0} END AS {0}").format(Identifier(column.name), _FORMULA, "'")
        if column.type_code in _TEXTS
        else Identifier(column.name)
        for column in shown
    ]
    return SQL("SELECT {} FROM ({}) AS t").format(SQL(", ").join(columns), query)
