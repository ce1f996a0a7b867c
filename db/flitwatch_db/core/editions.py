"""Editions of PostgreSQL: plain, TimescaleDB's Apache edition, or the full one."""

from __future__ import annotations

from typing import Any, Literal

import psycopg

Edition = Literal["plain", "apache", "timescale"]


def detect_edition(conn: psycopg.Connection[Any]) -> Edition:
    """Return the edition used by this database's tables.

    "plain": native partitions; "apache": hypertables without compression and policies (Debian's packages); "timescale": the full edition.
    """
    row = conn.execute(
        "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb'), current_setting('timescaledb.license', true)"
    ).fetchone()
    if row is None or not row[0]:
        return "plain"
    return "timescale" if row[1] == "timescale" else "apache"
