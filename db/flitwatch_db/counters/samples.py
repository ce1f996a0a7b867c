"""Store packet samples: sums by context and link, with their minutes and hours in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql
from psycopg.sql import SQL

from flitwatch_db.core.additive import ensure_chunks
from flitwatch_db.core.columns import Columns, Connection, Kind, fetch_columns, query_rows
from flitwatch_domain.errors import BadInput

Row = dict[str, Any]
TABLES = {1: SQL("sample_1s"), 60: SQL("sample_1m"), 3600: SQL("sample_1h")}
_MATCH = SQL(
    "fabric_id = %(fabric)s AND (%(job)s::text IS NULL OR job_id = %(job)s) AND (%(tag)s::text IS NULL OR tag = %(tag)s)"
    " AND (%(phase)s::text IS NULL OR phase = %(phase)s)"
)


async def list_contexts(
    conn: Connection,
    fabric_id: int,
    job: str | None,
    tag: str | None,
    phase: str | None,
    limit: int,
    below: int | None = None,
) -> list[Row]:
    """Return matching contexts, newest first: {context_id, job_id, tag, phase, longest_path, variants, simulated, first_ts, last_ts}."""
    return await query_rows(
        conn,
        SQL(
            "SELECT context_id, job_id, tag, phase, longest_path, variants, simulated, first_ts, last_ts FROM sample_context WHERE {}"
            " AND (%(below)s::int IS NULL OR context_id < %(below)s) ORDER BY context_id DESC LIMIT %(limit)s"
        ).format(_MATCH),
        {"fabric": fabric_id, "job": job, "tag": tag, "phase": phase, "below": below, "limit": limit},
    )


async def find_bucket_s(conn: Connection, context_ids: Sequence[int], from_s: float) -> int:
    """Return the finest bucket (1, 60 or 3600 s) with rows of these contexts since a given time."""
    for width in (1, 60):
        row = await (
            await conn.execute(
                SQL(
                    "SELECT extract(epoch FROM min(ts))::float8, (SELECT extract(epoch FROM min(first_ts))::float8 FROM sample_context"
                    " WHERE context_id = ANY(%(ids)s)) FROM {} WHERE context_id = ANY(%(ids)s)"
                ).format(TABLES[width]),
                {"ids": list(context_ids)},
            )
        ).fetchone()
        assert row is not None
        oldest, first = row
        if oldest is not None and oldest // width * width <= max(from_s, first):
            return width
    return 3600


async def sum_links(conn: Connection, context_ids: Sequence[int], spans: Sequence[tuple[int, int, int]]) -> Columns:
    """Sum by link over spans of (bucket width, from, to): link int32[n] and float64[n] for each of `flitwatch_db.counters.samples.SUMS`."""
    parts: list[sql.Composed] = []
    parameters: dict[str, Any] = {"ids": list(context_ids)}
    for number, (width, from_s, to_s) in enumerate(spans):
        parts.append(
            SQL(
                "SELECT * FROM {} WHERE context_id = ANY(%(ids)s) AND ts >= to_timestamp({}) AND ts < to_timestamp({})"
            ).format(TABLES[width], SQL(f"%(from{number})s"), SQL(f"%(to{number})s"))
        )
        parameters |= {f"from{number}": from_s, f"to{number}": to_s}
    totals = SQL(", ").join(SQL("sum({0}) AS {0}").format(SQL(name)) for name in SUMS)
    query = SQL("SELECT link, {} FROM ({}) AS span GROUP BY link ORDER BY link").format(
        totals, SQL(" UNION ALL ").join(parts)
    )
    kinds: dict[str, Kind] = {"link": "i4"}
    kinds |= dict.fromkeys(SUMS, "f8")
    return await fetch_columns(conn, query, parameters, kinds)


async def count_host_packets(conn: Connection, fabric_id: int, from_s: float, to_s: float, limit: int) -> list[Row]:
    """Count packets by host and outcome, in minutes of [from, to): {host, outcome, packets}."""
    return await query_rows(
        conn,
        "SELECT host, outcome, sum(packets) AS packets FROM sample_host_1m WHERE fabric_id = %s AND ts >= to_timestamp(%s::float8)"
        " AND ts < to_timestamp(%s::float8) GROUP BY host, outcome ORDER BY host, outcome LIMIT %s",
        [fabric_id, from_s, to_s, limit],
    )


WIDTHS_S = {"1s": 1, "1m": 60, "1h": 3600}
SUMS = ("tested", "tested_bytes", "traffic", "traffic_variance", "congested", "congested_variance")


@dataclass(frozen=True)
class Summary:
    """Samples of one host, context and time slice, summed by link.

    Attributes
    ----------
    fabric : str
        A fabric's name.
    job, tag, phase : str or None
        The context; None is unknown.
    start_s : float
        Start of the slice, epoch seconds.
    longest_path : int
        Largest number of hops of a packet.
    variant : str
        one-bit or standard.
    link : int[L]
        Indices in the fabric.
    sums : float[L, 6]
        In the order of `SUMS`: packets tested for the link and their bytes; estimates, each with its variance, of the packets that passed it and of
        those that found it congested (in the one-bit variant they may be below zero).
    packets : mapping of str to int
        Packets of the host by outcome.
    """

    fabric: str
    host: str
    job: str | None
    tag: str | None
    phase: str | None
    start_s: float
    longest_path: int
    variant: str
    link: NDArray[np.int32]
    sums: NDArray[np.float64]
    packets: Mapping[str, int]
    simulated: bool = False


def write_samples(conn: psycopg.Connection[Any], summaries: Sequence[Summary]) -> None:
    """Add summaries within the caller's transaction; values of the same context, second and link are summed. Raise BadInput if a fabric is missing,
    or does not have a link; then nothing is written."""
    if not summaries:
        return
    fabrics = _find_fabrics(conn, summaries)
    learned = [summary for summary in summaries if len(summary.link)]
    if learned:
        contexts = _upsert_contexts(conn, fabrics, learned)
        sizes = [len(summary.link) for summary in learned]
        rows = [
            np.repeat(np.array(contexts, np.int64), sizes),
            np.repeat(np.array([int(summary.start_s) for summary in learned], np.int64), sizes),
            np.concatenate([summary.link for summary in learned]).astype(np.int64),
        ]
        sums = np.concatenate([summary.sums for summary in learned])
        for suffix, width_s in WIDTHS_S.items():
            _add_sums(conn, f"sample_{suffix}", rows[0], rows[1] - rows[1] % width_s, rows[2], sums)
    _add_packets(conn, fabrics, summaries)


def _find_fabrics(conn: psycopg.Connection[Any], summaries: Sequence[Summary]) -> dict[str, int]:
    names = sorted({summary.fabric for summary in summaries})
    rows = conn.execute(
        "SELECT name, fabric_id, (SELECT coalesce(max(link), -1) FROM link l WHERE l.fabric_id = f.fabric_id) FROM fabric f WHERE name = ANY(%s)",
        [names],
    ).fetchall()
    last = {name: int(link) for name, _, link in rows}
    for summary in summaries:
        if summary.fabric not in last:
            raise BadInput(f"fabric {summary.fabric[:80]!r} is not in the database")
        if len(summary.link) and int(summary.link.max()) > last[summary.fabric]:
            raise BadInput(
                f"link {int(summary.link.max())} of fabric {summary.fabric!r}, whose links end at {last[summary.fabric]}"
            )
    return {name: int(fabric_id) for name, fabric_id, _ in rows}


def _upsert_contexts(
    conn: psycopg.Connection[Any], fabrics: Mapping[str, int], summaries: Sequence[Summary]
) -> list[int]:
    """Return the context of each summary, and create new ones."""
    context_ids: dict[tuple[Any, ...], int] = {}
    # In a fixed order, so that two writers never block each other.
    for summary in sorted(summaries, key=_sort_key):
        row = conn.execute(
            "INSERT INTO sample_context AS c (fabric_id, job_id, tag, phase, longest_path, variants, simulated, first_ts, last_ts)"
            " VALUES (%s, %s, %s, %s, %s, ARRAY[%s], %s, to_timestamp(%s::float8), to_timestamp(%s::float8))"
            " ON CONFLICT (fabric_id, job_id, tag, phase) DO UPDATE SET longest_path = greatest(c.longest_path, excluded.longest_path),"
            " variants = CASE WHEN c.variants @> excluded.variants THEN c.variants ELSE c.variants || excluded.variants END,"
            " simulated = c.simulated OR excluded.simulated, first_ts = least(c.first_ts, excluded.first_ts),"
            " last_ts = greatest(c.last_ts, excluded.last_ts) RETURNING context_id",
            [
                fabrics[summary.fabric],
                summary.job,
                summary.tag,
                summary.phase,
                summary.longest_path,
                summary.variant,
                summary.simulated,
                summary.start_s,
                summary.start_s,
            ],
        ).fetchone()
        assert row is not None
        context_ids[_sort_key(summary)] = int(row[0])
    return [context_ids[_sort_key(summary)] for summary in summaries]


def _sort_key(summary: Summary) -> tuple[Any, ...]:
    return (
        summary.fabric,
        *(("", part) if part is None else ("=", part) for part in (summary.job, summary.tag, summary.phase)),
    )


def _add_sums(
    conn: psycopg.Connection[Any],
    table: str,
    context: NDArray[np.int64],
    ts_s: NDArray[np.int64],
    link: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    ensure_chunks(conn, table, ts_s)
    names = ", ".join(SUMS)
    added = ", ".join(f"{name} = t.{name} + excluded.{name}" for name in SUMS)
    totals = ", ".join(f"sum({name})" for name in SUMS)
    conn.execute(
        f"INSERT INTO {table} AS t (context_id, ts, link, {names}) SELECT context_id, to_timestamp(ts_s), link, {totals} FROM unnest("  # noqa: S608
        "%s::int[], %s::bigint[], %s::int[], %s::float8[], %s::float8[], %s::float8[], %s::float8[], %s::float8[], %s::float8[])"
        f" AS new (context_id, ts_s, link, {names}) GROUP BY context_id, ts_s, link ORDER BY context_id, ts_s, link"
        f" ON CONFLICT (context_id, ts, link) DO UPDATE SET {added}",
        [context.tolist(), ts_s.tolist(), link.tolist(), *(sums[:, column].tolist() for column in range(len(SUMS)))],
    )


def _add_packets(conn: psycopg.Connection[Any], fabrics: Mapping[str, int], summaries: Sequence[Summary]) -> None:
    rows = [
        (fabrics[summary.fabric], int(summary.start_s) // 60 * 60, summary.host, outcome, float(packets))
        for summary in summaries
        for outcome, packets in summary.packets.items()
        if packets
    ]
    if not rows:
        return
    ensure_chunks(conn, "sample_host_1m", np.array([row[1] for row in rows], np.int64))
    conn.execute(
        "INSERT INTO sample_host_1m AS t (fabric_id, ts, host, outcome, packets) SELECT fabric_id, to_timestamp(ts_s), host, outcome, sum(packets)"
        " FROM unnest(%s::int[], %s::bigint[], %s::text[], %s::text[], %s::float8[]) AS new (fabric_id, ts_s, host, outcome, packets)"
        " GROUP BY fabric_id, ts_s, host, outcome ORDER BY fabric_id, ts_s, host, outcome"
        " ON CONFLICT (fabric_id, ts, host, outcome) DO UPDATE SET packets = t.packets + excluded.packets",
        [list(column) for column in zip(*rows, strict=True)],
    )
