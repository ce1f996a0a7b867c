"""Topics that several writers share: slices of devices, each with positions of its own (docs/contracts/log.md).

A topic is whole while one writer has it: its positions stand in `stream_position`. Whoever has it alone divides it for others, and makes it whole again once
all its slices stand at the same records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from flitwatch_db.ingest.store import Position, Reader
from flitwatch_domain.errors import Conflict

#: Into so many slices a topic is divided: 2, 3, 4, 6, 8, 12 or 24 partitions have equally many.
SLICES = 24
#: In place of a slice: the whole topic.
WHOLE = -1
#: Of a slice that moved no later, nobody has heard for long: its time holds nobody up.
_QUIET_S = 15.0


class Slot(NamedTuple):
    """A slice's records in one partition."""

    topic: str
    partition: int
    slice: int = WHOLE


def divisions(conn: psycopg.Connection[Any], reader: Reader) -> dict[str, int]:
    """The divided topics, and into how many slices."""
    rows = conn.execute(
        "SELECT topic, slices FROM topic_division WHERE log_id = %s AND consumer_group = %s",
        [reader.log_id, reader.group],
    )
    return dict(rows.fetchall())


def _await_others(conn: psycopg.Connection[Any]) -> None:
    """Wait for transactions that move positions: of a writer that was killed, one may still be under way, though its locks are gone."""
    conn.execute("LOCK TABLE stream_position, slice_position IN SHARE ROW EXCLUSIVE MODE")


def divide(conn: psycopg.Connection[Any], reader: Reader, topic: str, slices: int = SLICES) -> None:
    """Divide a topic that the caller alone has: every slice begins where the topic stands. A topic that is divided stays as it is."""
    with conn.transaction():
        _await_others(conn)
        added = conn.execute(
            "INSERT INTO topic_division (log_id, consumer_group, topic, slices) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [reader.log_id, reader.group, topic, slices],
        )
        if not added.rowcount:
            return
        conn.execute(
            "INSERT INTO slice_position (log_id, consumer_group, topic, slice, partition, position, replay_from, closed_through)"
            " SELECT log_id, consumer_group, topic, slice, partition, position, replay_from, closed_through"
            " FROM stream_position, generate_series(0, %s - 1) AS slice WHERE log_id = %s AND consumer_group = %s AND topic = %s",
            [slices, reader.log_id, reader.group, topic],
        )


def unite(conn: psycopg.Connection[Any], reader: Reader, topic: str) -> bool:
    """Make a topic whole that the caller alone has; False where its slices stand at different records, and nothing is changed."""
    whole = [reader.log_id, reader.group, topic]
    with conn.transaction():
        _await_others(conn)
        apart = conn.execute(
            "SELECT FROM slice_position JOIN topic_division d USING (log_id, consumer_group, topic)"
            " WHERE log_id = %s AND consumer_group = %s AND topic = %s GROUP BY partition, d.slices"
            " HAVING count(*) < d.slices OR min(position) < max(position) OR count(DISTINCT coalesce(closed_through, '-infinity')) > 1 LIMIT 1",
            whole,
        ).fetchone()
        if apart is not None:
            return False
        conn.execute("DELETE FROM topic_division WHERE log_id = %s AND consumer_group = %s AND topic = %s", whole)
        conn.execute(
            "INSERT INTO stream_position AS s (log_id, consumer_group, topic, partition, position, replay_from, closed_through)"
            " SELECT log_id, consumer_group, topic, partition, min(position), min(replay_from), max(closed_through)"
            " FROM slice_position WHERE log_id = %s AND consumer_group = %s AND topic = %s GROUP BY 1, 2, 3, 4"
            " ON CONFLICT (log_id, consumer_group, topic, partition) DO UPDATE SET position = excluded.position,"
            " replay_from = excluded.replay_from, closed_through = excluded.closed_through, updated_at = clock_timestamp()",
            whole,
        )
        conn.execute("DELETE FROM slice_position WHERE log_id = %s AND consumer_group = %s AND topic = %s", whole)
        # All that was sent up to these positions is written, so the highest sequence of any slice is the source's.
        conn.execute(
            "INSERT INTO source_position AS s (source, sequence) SELECT source, max(sequence) FROM slice_source WHERE topic = %s"
            " GROUP BY source ON CONFLICT (source) DO UPDATE SET sequence = greatest(s.sequence, excluded.sequence),"
            " updated_at = clock_timestamp()",
            [topic],
        )
        conn.execute("DELETE FROM slice_source WHERE topic = %s", [topic])
    return True


def positions(conn: psycopg.Connection[Any], reader: Reader) -> dict[Slot, Position]:
    """All positions of slices of a consumer group in one log."""
    rows = conn.execute(
        "SELECT topic, partition, slice, position, replay_from, closed_through FROM slice_position"
        " WHERE log_id = %s AND consumer_group = %s",
        [reader.log_id, reader.group],
    )
    return {Slot(topic, partition, part): Position(*rest) for topic, partition, part, *rest in rows}


def advance(
    conn: psycopg.Connection[Any],
    reader: Reader,
    new: Mapping[Slot, Position],
    expected: Mapping[Slot, int | None],
    reached: datetime | None,
) -> None:
    """Move positions of slices on, in the transaction of the rows they cover.

    Parameters
    ----------
    new, expected : mapping
        As those of `flitwatch_db.ingest.store.advance`.
    reached : datetime, optional
        The time that nearly all devices of these slices have passed.

    Raises
    ------
    Conflict
        Another writer has moved one of them, or the topic is no longer divided. Roll back.
    """
    slots = sorted(new)
    with conn.cursor() as cursor:
        cursor.execute(
            "INSERT INTO slice_position AS s (log_id, consumer_group, topic, slice, partition, position, replay_from, closed_through, reached)"
            " SELECT %(log)s, %(group)s, w.topic, w.slice, w.partition, w.position, w.replay_from, w.closed_through, %(reached)s"
            " FROM unnest(%(topics)s::text[], %(slices)s::int[], %(partitions)s::int[], %(positions)s::bigint[], %(replays)s::bigint[],"
            " %(closed)s::timestamptz[]) AS w (topic, slice, partition, position, replay_from, closed_through)"
            " WHERE EXISTS (SELECT FROM topic_division d WHERE d.log_id = %(log)s AND d.consumer_group = %(group)s AND d.topic = w.topic)"
            " ON CONFLICT (log_id, consumer_group, topic, slice, partition) DO UPDATE SET position = excluded.position,"
            " replay_from = excluded.replay_from, closed_through = excluded.closed_through, reached = excluded.reached,"
            " updated_at = clock_timestamp()"
            " WHERE s.position IN (SELECT e.position FROM unnest(%(topics)s::text[], %(slices)s::int[], %(partitions)s::int[],"
            " %(expected)s::bigint[]) AS e (topic, slice, partition, position)"
            " WHERE e.topic = s.topic AND e.slice = s.slice AND e.partition = s.partition)",
            {
                "log": reader.log_id,
                "group": reader.group,
                "reached": reached,
                "topics": [slot.topic for slot in slots],
                "slices": [slot.slice for slot in slots],
                "partitions": [slot.partition for slot in slots],
                "positions": [new[slot].position for slot in slots],
                "replays": [new[slot].replay_from for slot in slots],
                "closed": [new[slot].closed_through for slot in slots],
                "expected": [expected.get(slot) for slot in slots],
            },
        )
        if cursor.rowcount != len(slots):
            raise Conflict(
                f"another {reader.group} has moved on in one of {len(slots)} slices",
                advice="Read their positions again.",
            )


def reached_by_others(conn: psycopg.Connection[Any], reader: Reader, mine: Collection[Slot]) -> datetime | None:
    """The time that the slices of all other writers have passed that moved lately; None where there are none."""
    row = conn.execute(
        "SELECT min(reached) FROM slice_position s WHERE log_id = %s AND consumer_group = %s"
        " AND updated_at > clock_timestamp() - make_interval(secs => %s)"
        " AND NOT EXISTS (SELECT FROM unnest(%s::text[], %s::int[]) AS m (topic, slice) WHERE m.topic = s.topic AND m.slice = s.slice)",
        [reader.log_id, reader.group, _QUIET_S, [slot.topic for slot in mine], [slot.slice for slot in mine]],
    ).fetchone()
    return None if row is None else row[0]


def source_positions(conn: psycopg.Connection[Any], topic: str, sources: Collection[str]) -> dict[tuple[str, int], int]:
    """The last written sequence of each named source in each slice that has one."""
    rows = conn.execute(
        "SELECT source, slice, sequence FROM slice_source WHERE topic = %s AND source = ANY(%s)", [topic, list(sources)]
    )
    return {(source, part): sequence for source, part, sequence in rows}


def save_source_positions(conn: psycopg.Connection[Any], sequences: Mapping[tuple[str, int, str], int]) -> None:
    """Store the last written sequence by (topic, slice, source); a smaller one than is stored changes nothing."""
    keys = sorted(sequences)
    conn.execute(
        "INSERT INTO slice_source AS s (topic, slice, source, sequence)"
        " SELECT * FROM unnest(%s::text[], %s::int[], %s::text[], %s::bigint[])"
        " ON CONFLICT (topic, slice, source) DO UPDATE SET sequence = excluded.sequence, updated_at = clock_timestamp()"
        " WHERE s.sequence < excluded.sequence",
        [
            [key[0] for key in keys],
            [key[1] for key in keys],
            [key[2] for key in keys],
            [sequences[key] for key in keys],
        ],
    )
