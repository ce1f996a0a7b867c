"""Measurements of the MPI microbenchmark: in and out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.rows import dict_row

_COLUMNS = (
    "source", "network", "collective", "collective_bytes", "perturbation_bytes", "world", "ranks", "perturbing", "ratio",
    "split", "seed", "late", "perturbed_s", "quiet_s",
)  # fmt: skip


def insert(conn: psycopg.Connection[Any], source: str, measurements: Iterable[dict[str, Any]]) -> int:
    """Store measurements (keys as the columns of `noise_bench`); return how many are new. The same ones again change nothing."""
    new = 0
    for measurement in measurements:
        values = {"source": source} | measurement
        row = conn.execute(
            "INSERT INTO noise_bench (source, network, collective, collective_bytes, perturbation_bytes, world, ranks,"
            " perturbing, ratio, split, seed, late, perturbed_s, quiet_s) VALUES (%(source)s, %(network)s, %(collective)s,"
            " %(collective_bytes)s, %(perturbation_bytes)s, %(world)s, %(ranks)s, %(perturbing)s, %(ratio)s, %(split)s,"
            " %(seed)s, %(late)s, %(perturbed_s)s, %(quiet_s)s) ON CONFLICT DO NOTHING RETURNING 1",
            {column: values[column] for column in _COLUMNS},
        ).fetchone()
        new += row is not None
    return new


def slowdowns(conn: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """Mean perturbed and quiet time a (network, collective, world, ratio), for a page beside the simulation.

    Returns
    -------
    list of {network, collective, world, ratio, splits, perturbed_s, quiet_s, slowdown}
        A mean is None where every measurement came too late for its window.
    """
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            "SELECT network, collective, world, ratio, count(*)::int AS splits, avg(p.mean) AS perturbed_s,"
            " avg(q.mean) AS quiet_s, avg(p.mean / nullif(q.mean, 0)) AS slowdown FROM noise_bench,"
            " LATERAL (SELECT avg(x) AS mean FROM unnest(perturbed_s) x) p, LATERAL (SELECT avg(x) AS mean FROM unnest(quiet_s) x) q"
            " GROUP BY network, collective, world, ratio ORDER BY network, collective, world, ratio"
        ).fetchall()
