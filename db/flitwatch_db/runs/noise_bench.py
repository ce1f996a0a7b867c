"""Store and list measurements of the MPI microbenchmark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypedDict, cast

import psycopg
from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows
from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.tasks.record import OPEN_TO
from flitwatch_domain.access import VISITOR


class Measurement(TypedDict):
    """A measurement of noise_bench, version 1: seconds of a collective with and without perturbation, and the number that missed their window."""

    kind: str
    version: int
    network: str
    collective: str
    collective_bytes: int
    perturbation_bytes: int
    world: int
    ranks: int
    perturbing: int
    split: int
    seed: int
    late: int
    ratio: float
    perturbed_s: list[float]
    quiet_s: list[float]


def insert_measurements(conn: psycopg.Connection[Any], source: str, measurements: Iterable[Measurement]) -> int:
    """Store measurements (keys as the columns of `noise_bench`); return the number of new ones. Duplicates have no effect."""
    new = 0
    for measurement in measurements:
        row = conn.execute(
            "INSERT INTO noise_bench (source, network, collective, collective_bytes, perturbation_bytes, world, ranks,"
            " perturbing, ratio, split, seed, late, perturbed_s, quiet_s) VALUES (%(source)s, %(network)s, %(collective)s,"
            " %(collective_bytes)s, %(perturbation_bytes)s, %(world)s, %(ranks)s, %(perturbing)s, %(ratio)s, %(split)s,"
            " %(seed)s, %(late)s, %(perturbed_s)s, %(quiet_s)s) ON CONFLICT DO NOTHING RETURNING 1",
            {"source": source, **measurement},
        ).fetchone()
        new += row is not None
    return new


_OF_A_NETWORK = SQL("""
    (SELECT * FROM noise_bench
     WHERE (%(network)s::text IS NULL OR network = %(network)s) AND (%(collective)s::text IS NULL OR collective = %(collective)s)) measured
""")
#: A split's slowdown is its mean perturbed over its mean quiet time.
_SPLITS = (
    SQL("""
    (SELECT *, (SELECT avg(x) FROM unnest(perturbed_s) x) AS p, (SELECT nullif(avg(x), 0) FROM unnest(quiet_s) x) AS q FROM """)
    + _OF_A_NETWORK
    + SQL(") split")
)
#: One row per (network, collective, sizes, world, ratio); the five points of a box are those of all single measurements.
SLOWDOWNS = (
    SQL("""
    SELECT * FROM (
        SELECT network, collective, collective_bytes, perturbation_bytes, world, ratio, count(*)::int AS splits, sum(late)::int AS late,
            avg(p) AS perturbed_s, avg(q) AS quiet_s, avg(p / q) AS slowdown, min(p / q) AS slowdown_min, max(p / q) AS slowdown_max,
            percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY p / q) AS slowdown_quartiles, max(imported_at) AS imported_at
        FROM """)
    + _SPLITS
    + SQL("""
        GROUP BY network, collective, collective_bytes, perturbation_bytes, world, ratio
    ) means LEFT JOIN (
        SELECT network, collective, collective_bytes, perturbation_bytes, world, ratio,
            percentile_cont(ARRAY[0, 0.25, 0.5, 0.75, 1]) WITHIN GROUP (ORDER BY s) FILTER (WHERE noisy) AS perturbed_five,
            percentile_cont(ARRAY[0, 0.25, 0.5, 0.75, 1]) WITHIN GROUP (ORDER BY s) FILTER (WHERE NOT noisy) AS quiet_five,
            count(*) FILTER (WHERE noisy)::int AS perturbed_measurements, count(*) FILTER (WHERE NOT noisy)::int AS quiet_measurements
        FROM """)
    + _OF_A_NETWORK
    + SQL(""",
            LATERAL (SELECT unnest(perturbed_s) AS s, true AS noisy UNION ALL SELECT unnest(quiet_s), false) single
        GROUP BY network, collective, collective_bytes, perturbation_bytes, world, ratio
    ) boxes USING (network, collective, collective_bytes, perturbation_bytes, world, ratio)
    ORDER BY network, collective, collective_bytes, perturbation_bytes, world, ratio LIMIT %(limit)s
""")
)
#: One row per (network, collective, sizes, world): the slowdowns of its splits over their ratios.
SPLITS_OVER_RATIOS = (
    SQL("""
    SELECT network, collective, collective_bytes, perturbation_bytes, world, array_agg(ratio ORDER BY ratio, split) AS ratios,
        array_agg(p / q ORDER BY ratio, split) AS slowdowns
    FROM """)
    + _SPLITS
    + SQL("""
    WHERE p / q IS NOT NULL
    GROUP BY network, collective, collective_bytes, perturbation_bytes, world
    ORDER BY network, collective, collective_bytes, perturbation_bytes, world LIMIT %(limit)s
""")
)


class SlowdownRow(TypedDict):
    """Columns of `SLOWDOWNS`; a mean is None if all measurements missed their window."""

    network: str
    collective: str
    collective_bytes: int
    perturbation_bytes: int
    world: int
    ratio: float
    splits: int
    late: int
    perturbed_s: float | None
    quiet_s: float | None
    slowdown: float | None
    slowdown_min: float | None
    slowdown_max: float | None
    slowdown_quartiles: list[float] | None
    imported_at: datetime
    perturbed_five: list[float] | None
    quiet_five: list[float] | None
    perturbed_measurements: int | None
    quiet_measurements: int | None


def list_slowdowns(conn: psycopg.Connection[Any], limit: int = 1000) -> list[SlowdownRow]:
    """List the measured slowdowns by ratio."""
    rows = fetch_rows(conn, SLOWDOWNS, {"network": None, "collective": None, "limit": limit})
    return cast(list[SlowdownRow], rows)


Row = dict[str, Any]


async def list_measured(
    conn: Connection, limit: int, network: str | None = None, collective: str | None = None
) -> list[Row]:
    """Return slowdowns by ratio, with the columns of `flitwatch_db.runs.noise_bench.SLOWDOWNS`."""
    return await query_rows(conn, SLOWDOWNS, {"network": network, "collective": collective, "limit": limit})


async def over_ratios(
    conn: Connection, limit: int, network: str | None = None, collective: str | None = None
) -> list[Row]:
    """Return ratios and slowdowns of all splits of each series, with the columns of `flitwatch_db.runs.noise_bench.SPLITS_OVER_RATIOS`."""
    return await query_rows(conn, SPLITS_OVER_RATIOS, {"network": network, "collective": collective, "limit": limit})


async def list_simulated(conn: Connection, tasks: int, asker: str | None) -> list[Row]:
    """Return results of the newest `tasks` successful studies and collectives: {task_id, name, finished_at, result}.

    `asker` is as in `flitwatch_db.tasks.record.list_tasks`.
    """
    return await query_rows(
        conn,
        SQL(
            "SELECT task_id, name, finished_at, result FROM task WHERE state = 'succeeded' AND (name = 'sim.collective'"
            " OR (name = 'sim.study' AND result ->> 'study' LIKE 'hoefler-fig%%')) AND"
        )
        + OPEN_TO
        + SQL(" ORDER BY task_id DESC LIMIT %(tasks)s"),
        {"tasks": tasks, "asker": asker, "visitor": VISITOR},
    )
