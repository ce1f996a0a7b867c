"""State of the writer: positions, dead letters, gaps, schemas and rates per minute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import psycopg
from psycopg.types.json import Jsonb

from flitwatch_domain.errors import Conflict

#: Maximum number of stored bytes of a dead letter.
RAW_BYTES = 64 << 10

#: (topic, partition)
Place = tuple[str, int]


@dataclass(frozen=True)
class Position:
    """Position of a consumer group in a partition.

    Attributes
    ----------
    position : int
        The next record to write.
    replay_from : int
        First record to read again after a restart to rebuild the writer's memory, without writing.
    closed_through : datetime, optional
        Port buckets before this time are complete.
    """

    position: int
    replay_from: int
    closed_through: datetime | None = None


@dataclass(frozen=True)
class DeadLetter:
    """An unusable record, and the reason."""

    topic: str
    partition: int
    offset: int
    reason: str
    raw: bytes
    source: str = ""
    where: str = ""
    raw_bytes: int | None = None


@dataclass(frozen=True)
class Gap:
    """A time with missing counts; `counts` contains the known part of their sum."""

    device: str
    schema: str
    from_ts: datetime
    to_ts: datetime
    reason: Literal["silence", "reset", "restart", "clock_back"]
    fabric_id: int | None = None
    counts: dict[str, Any] | None = None


class Reader(NamedTuple):
    """Consumer group and its log; positions are stored for each pair."""

    group: str
    log_id: str


class GapKey(NamedTuple):
    device: str
    schema: str
    from_ts: datetime
    reason: str


@dataclass
class Rates:
    """Counts of a topic's records. Unplaced ones have counters without a place in any fabric."""

    records: int = 0
    values: int = 0
    bytes: int = 0
    duplicates: int = 0
    late: int = 0
    dead: int = 0
    unplaced: int = 0


def load_positions(conn: psycopg.Connection[Any], reader: Reader) -> dict[Place, Position]:
    """Return all positions of a consumer group in one log."""
    rows = conn.execute(
        "SELECT topic, partition, position, replay_from, closed_through FROM stream_position"
        " WHERE consumer_group = %s AND log_id = %s",
        reader,
    )
    return {(topic, partition): Position(*rest) for topic, partition, *rest in rows}


def adopt_positions(conn: psycopg.Connection[Any], reader: Reader) -> int:
    """Assign positions without a log, from an older version, to this reader; return their number."""
    return conn.execute(
        "UPDATE stream_position SET log_id = %s WHERE consumer_group = %s AND log_id = ''",
        [reader.log_id, reader.group],
    ).rowcount


def advance_positions(
    conn: psycopg.Connection[Any], reader: Reader, new: Mapping[Place, Position], expected: Mapping[Place, int | None]
) -> None:
    """Advance positions, in the same transaction as their rows.

    Parameters
    ----------
    new : mapping
        The positions to store.
    expected : mapping
        The stored positions as known to this writer; None or absent: no row yet.

    Raises
    ------
    Conflict
        Another writer has advanced one of them, and has written this writer's records of the partition. Roll back.
    """
    places = sorted(new)
    with conn.cursor() as cursor:
        cursor.execute(
            "INSERT INTO stream_position AS s (log_id, consumer_group, topic, partition, position, replay_from, closed_through)"
            " SELECT %s, %s, w.topic, w.partition, w.position, w.replay_from, w.closed_through"
            " FROM unnest(%s::text[], %s::int[], %s::bigint[], %s::bigint[], %s::timestamptz[])"
            " AS w (topic, partition, position, replay_from, closed_through)"
            " ON CONFLICT (log_id, consumer_group, topic, partition) DO UPDATE SET position = excluded.position,"
            " replay_from = excluded.replay_from, closed_through = excluded.closed_through, updated_at = clock_timestamp()"
            " WHERE s.position IN (SELECT e.position FROM unnest(%s::text[], %s::int[], %s::bigint[])"
            " AS e (topic, partition, position) WHERE e.topic = s.topic AND e.partition = s.partition)",
            [
                reader.log_id,
                reader.group,
                [topic for topic, _ in places],
                [partition for _, partition in places],
                [new[place].position for place in places],
                [new[place].replay_from for place in places],
                [new[place].closed_through for place in places],
                [topic for topic, _ in places],
                [partition for _, partition in places],
                [expected.get(place) for place in places],
            ],
        )
        if cursor.rowcount != len(places):
            raise Conflict(
                f"another {reader.group} has advanced in one of {len(places)} partitions",
                advice="Read their positions again.",
            )


def source_positions(conn: psycopg.Connection[Any], sources: Sequence[str]) -> dict[str, int]:
    """Return the last written sequence of each given source, if there is one."""
    rows = conn.execute("SELECT source, sequence FROM source_position WHERE source = ANY(%s)", [list(sources)])
    return dict(rows.fetchall())


def save_source_positions(conn: psycopg.Connection[Any], sequences: Mapping[str, int]) -> None:
    """Store the last written sequence of each source; a smaller one than the stored one has no effect."""
    sources = sorted(sequences)
    conn.execute(
        "INSERT INTO source_position AS s (source, sequence) SELECT * FROM unnest(%s::text[], %s::bigint[])"
        " ON CONFLICT (source) DO UPDATE SET sequence = excluded.sequence, updated_at = clock_timestamp()"
        " WHERE s.sequence < excluded.sequence",
        [sources, [sequences[source] for source in sources]],
    )


def add_dead_letters(conn: psycopg.Connection[Any], letters: Iterable[DeadLetter]) -> None:
    """Store unusable records, with the first 64 kB of each."""
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "COPY dead_letter (topic, partition, offset_, source, where_, reason, raw, raw_bytes) FROM STDIN (FORMAT binary)"
        ) as copy,
    ):
        copy.set_types(["text", "int4", "int8", "text", "text", "text", "bytea", "int4"])
        for letter in letters:
            size = len(letter.raw) if letter.raw_bytes is None else letter.raw_bytes
            copy.write_row(
                (
                    letter.topic,
                    letter.partition,
                    letter.offset,
                    _replace_unstorable(letter.source),
                    _replace_unstorable(letter.where),
                    _replace_unstorable(letter.reason),
                    letter.raw[:RAW_BYTES],
                    size,
                )
            )


def _replace_unstorable(text: str) -> str:
    """Replace characters that PostgreSQL's text cannot store: NUL and lone surrogates."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode()


def add_gaps(conn: psycopg.Connection[Any], gaps: Iterable[Gap]) -> None:
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO gap (fabric_id, device, schema, from_ts, to_ts, reason, counts) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    g.fabric_id,
                    g.device,
                    g.schema,
                    g.from_ts,
                    g.to_ts,
                    g.reason,
                    None if g.counts is None else Jsonb(g.counts),
                )
                for g in gaps
            ],
        )


def remove_gaps(conn: psycopg.Connection[Any], gaps: Sequence[GapKey]) -> int:
    """Remove gaps that late samples filled or that will be stored again; return how many existed."""
    if not gaps:
        return 0
    return conn.execute(
        "DELETE FROM gap USING unnest(%s::text[], %s::text[], %s::timestamptz[], %s::text[]) AS k (device, schema, from_ts, reason)"
        " WHERE gap.device = k.device AND gap.schema = k.schema AND gap.from_ts = k.from_ts AND gap.reason = k.reason",
        [list(column) for column in zip(*gaps, strict=True)],
    ).rowcount


def add_rates(conn: psycopg.Connection[Any], at: datetime, rates: Mapping[str, Rates]) -> None:
    """Add rates by topic to those of their minute."""
    with conn.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO ingest_minute AS m (ts, topic, records, values_, bytes, duplicates, late, dead, unplaced)"
            " VALUES (date_trunc('minute', %s::timestamptz), %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (ts, topic) DO UPDATE SET"
            " records = m.records + excluded.records, values_ = m.values_ + excluded.values_, bytes = m.bytes + excluded.bytes,"
            " duplicates = m.duplicates + excluded.duplicates, late = m.late + excluded.late, dead = m.dead + excluded.dead,"
            " unplaced = m.unplaced + excluded.unplaced",
            [(at, topic, *astuple(counts)) for topic, counts in sorted(rates.items())],
        )


def register_schema(
    conn: psycopg.Connection[Any],
    name: str,
    digest: str,
    columns: Any,
    kind: Literal["router", "endpoint", "port", "other"],
) -> int:
    """Return the id of an LDMS schema, and store it the first time."""
    row = conn.execute(
        "INSERT INTO ldms_schema (name, digest, columns, kind) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (name, digest) DO UPDATE SET last_seen = clock_timestamp(), kind = excluded.kind, columns = excluded.columns RETURNING schema_id",
        [name, digest, Jsonb(columns), kind],
    ).fetchone()
    assert row is not None
    return int(row[0])


def count_records(conn: psycopg.Connection[Any], records: Mapping[int, int]) -> None:
    """Add to the number of records of each schema, by schema id."""
    ids = sorted(records)
    conn.execute(
        "UPDATE ldms_schema AS s SET records = s.records + w.records, last_seen = clock_timestamp()"
        " FROM unnest(%s::int[], %s::bigint[]) AS w (schema_id, records) WHERE s.schema_id = w.schema_id",
        [ids, [records[schema_id] for schema_id in ids]],
    )


def count_carried(conn: psycopg.Connection[Any], topics: Sequence[str]) -> int:
    """Count the records of these topics that are in the tables, from the committed positions of all groups."""
    row = conn.execute("SELECT coalesce(sum(position), 0) FROM stream_position WHERE topic = ANY(%s)", [list(topics)])
    return int((row.fetchone() or (0,))[0])
