"""Stored network noise of jobs, and the jobs without it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from flitwatch_domain.network_noise.of_job import JobNoise

Conn = psycopg.Connection[Any]
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
