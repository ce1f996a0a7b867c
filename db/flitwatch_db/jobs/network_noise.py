"""Stored network noise of jobs, the jobs without it, and the counters of two sets of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from flitwatch_db.jobs.network_cards import load_observations
from flitwatch_domain.errors import BadRequest, NotEnoughData
from flitwatch_domain.network_noise.of_job import JobNoise
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


Row = dict[str, Any]

#: Seconds after a job's end until its last counters are stored; and for how long, and how often, a result without counters is retried, since counters can be late.
SETTLED_S, AGAIN_S, RETRY_S = 120, 86_400, 3600
#: Days after its end during which a job is examined: as long as minutes are kept.
KEPT_DAYS = 400


@dataclass(frozen=True)
class EndedJob:
    """A job with unknown network noise."""

    job_pk: int
    start: datetime
    end: datetime


def list_waiting_jobs(conn: Conn, limit: int) -> list[EndedJob]:
    """Return ended jobs without network noise, with that of another end, or without counters; newest first."""
    rows = conn.execute(
        """
        SELECT job_pk, j.start_ts, j.end_ts
        FROM job j LEFT JOIN job_network_noise n USING (job_pk)
        WHERE j.end_ts > now() - make_interval(days => %(days)s) AND j.end_ts < now() - make_interval(secs => %(settled)s) AND j.end_ts > j.start_ts
          AND (n.job_pk IS NULL OR n.end_ts <> j.end_ts
               OR n.windows = 0 AND j.updated_at > now() - make_interval(secs => %(again)s) AND n.computed_at < now() - make_interval(secs => %(retry)s))
        ORDER BY j.end_ts DESC LIMIT %(limit)s
        """,
        {"days": KEPT_DAYS, "settled": SETTLED_S, "again": AGAIN_S, "retry": RETRY_S, "limit": limit},
    ).fetchall()
    return [EndedJob(*row) for row in rows]


def save_noise(conn: Conn, job: EndedJob, fabric_id: int | None, window_s: int | None, noise: JobNoise) -> None:
    """Store the result in place of an earlier one; do nothing if the job was deleted."""
    parameters = {
        "job_pk": job.job_pk,
        "end": job.end,
        "fabric_id": fabric_id,
        "window_s": window_s,
        **{
            name: value
            for name, value in asdict(noise).items()
            if name not in ("latency_us", "waits", "unknown", "counters")
        },
        "counters": list(noise.counters),
        "unknown": Jsonb(noise.unknown),
    }
    for name, figure in (("latency", noise.latency_us), ("waits", noise.waits)):
        parameters |= {
            f"{name}_mean": figure and figure.mean,
            f"{name}_quiet": figure and figure.quiet,
            f"{name}_dispersion": figure and figure.dispersion,
        }
    conn.execute(
        """
        INSERT INTO job_network_noise (job_pk, end_ts, fabric_id, window_s, windows, cards, cards_counted, latency_us, quiet_latency_us, latency_dispersion,
                                       waits, quiet_waits, waits_dispersion, waits_unit, message_dispersion, noise_s, worst_noise_s, counters, unknown)
        SELECT job_pk, %(end)s, %(fabric_id)s, %(window_s)s, %(windows)s, %(cards)s, %(cards_counted)s, %(latency_mean)s, %(latency_quiet)s,
               %(latency_dispersion)s, %(waits_mean)s, %(waits_quiet)s, %(waits_dispersion)s, %(waits_unit)s, %(message_dispersion)s, %(noise_s)s,
               %(worst_noise_s)s, %(counters)s, %(unknown)s
        FROM job WHERE job_pk = %(job_pk)s
        ON CONFLICT (job_pk) DO UPDATE SET (computed_at, end_ts, fabric_id, window_s, windows, cards, cards_counted, latency_us, quiet_latency_us,
            latency_dispersion, waits, quiet_waits, waits_dispersion, waits_unit, message_dispersion, noise_s, worst_noise_s, counters, unknown)
          = (now(), excluded.end_ts, excluded.fabric_id, excluded.window_s, excluded.windows, excluded.cards, excluded.cards_counted, excluded.latency_us,
             excluded.quiet_latency_us, excluded.latency_dispersion, excluded.waits, excluded.quiet_waits, excluded.waits_dispersion, excluded.waits_unit,
             excluded.message_dispersion, excluded.noise_s, excluded.worst_noise_s, excluded.counters, excluded.unknown)
        """,
        parameters,
    )


async def of_job(conn: AsyncConnection[Any], job_pk: int) -> Row | None:
    """Return a job's row of job_network_noise; None if it is missing, or belongs to another end."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            "SELECT n.*, extract(epoch FROM n.end_ts - j.start_ts)::float8 AS elapsed_s FROM job_network_noise n JOIN job j USING (job_pk, end_ts)"
            " WHERE job_pk = %s",
            [job_pk],
        )
        return await cursor.fetchone()
