"""Observations of the network cards of many runs, or of many jobs, each within its own time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from flitwatch_db.jobs.network_cards import load_observations
from flitwatch_domain.errors import BadRequest, NotEnoughData
from flitwatch_domain.network_noise.two_sets import Observed

Conn = psycopg.Connection[Any]

_RUNS = """
    SELECT r.run_id AS number, j.job_pk, extract(epoch FROM j.start_ts)::float8 AS job_start_s, extract(epoch FROM coalesce(j.end_ts, now()))::float8
    AS job_end_s,
           extract(epoch FROM r.start_ts)::float8 AS start_s, t.time_s, coalesce(j.simulated, r.simulated) AS simulated
    FROM run r LEFT JOIN job j USING (job_pk) LEFT JOIN LATERAL (SELECT sum(time_s) AS time_s FROM run_step s WHERE s.run_id = r.run_id) t ON true
"""
_JOBS = """
    SELECT DISTINCT ON (j.job_id) j.job_id AS number, j.job_pk, extract(epoch FROM j.start_ts)::float8 AS job_start_s, extract(epoch FROM
    j.end_ts)::float8 AS job_end_s,
           extract(epoch FROM j.start_ts)::float8 AS start_s, extract(epoch FROM j.end_ts - j.start_ts)::float8 AS time_s, j.simulated
    FROM job j WHERE j.job_id = ANY(%(numbers)s) ORDER BY j.job_id, j.start_ts DESC
"""


@dataclass(frozen=True)
class RunSetQuestion:
    """Definition of a set: runs or jobs by number, or runs of an application that began in a period (epoch seconds).

    `bare`: the application's name has no folders.
    """

    runs: Sequence[int] = ()
    jobs: Sequence[str] = ()
    application: str | None = None
    from_s: float | None = None
    to_s: float | None = None
    bare: bool = False


@dataclass(frozen=True)
class RunSetCounters:
    """Observations of a set; the members without observations, with the reason; and whether any member is simulated."""

    observed: list[Observed]
    left_out: list[tuple[str, str]]
    simulated: bool


def gather_set(conn: Conn, wanted: RunSetQuestion, most: int) -> RunSetCounters:
    """Read one set with at most `most` members: for an application, the newest."""
    rows, missing = _list_members(conn, wanted, most)
    members: list[Observed] = []
    left_out = [(number, "there is none of this number") for number in missing]
    for row in rows:
        number = str(row["number"])
        if row["job_pk"] is None or row["start_s"] is None or row["job_start_s"] is None:
            left_out.append((number, "it has no job with known times"))
            continue
        begin = max(row["start_s"], row["job_start_s"])
        end = row["job_end_s"] if row["time_s"] is None else min(begin + row["time_s"], row["job_end_s"] or begin)
        try:
            (observation,) = load_observations(
                conn, row["job_pk"], row["job_start_s"], end or begin, [(begin, end or begin)]
            )
        except (BadRequest, NotEnoughData) as why:
            left_out.append((number, why.message))
            continue
        members.append(Observed(observation, row["time_s"]))
    return RunSetCounters(members, left_out, any(row["simulated"] for row in rows))


def _list_members(conn: Conn, wanted: RunSetQuestion, most: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows, and the numbers that do not exist."""
    with conn.cursor(row_factory=dict_row) as cursor:
        if wanted.application is not None:
            exe = "regexp_replace(r.exe, '^.*/', '')" if wanted.bare else "r.exe"
            where = (
                f" WHERE {exe} = %(exe)s AND (%(from)s::float8 IS NULL OR r.start_ts >= to_timestamp(%(from)s))"
                " AND (%(to)s::float8 IS NULL OR r.start_ts < to_timestamp(%(to)s)) ORDER BY r.start_ts DESC LIMIT %(most)s"
            )
            parameters = {"exe": wanted.application, "from": wanted.from_s, "to": wanted.to_s, "most": most}
            return cursor.execute((_RUNS + where).encode(), parameters).fetchall(), []
        rows: list[dict[str, Any]] = []
        if wanted.runs:
            rows += cursor.execute(
                (_RUNS + " WHERE r.run_id = ANY(%(numbers)s)").encode(), {"numbers": list(wanted.runs)}
            ).fetchall()
        if wanted.jobs:
            rows += cursor.execute(_JOBS.encode(), {"numbers": list(wanted.jobs)}).fetchall()
    asked_for = {str(number) for number in (*wanted.runs, *wanted.jobs)}
    return rows, sorted(asked_for - {str(row["number"]) for row in rows})
