"""Status of ingest: rates, positions, schemas, gaps, dead letters."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows

Row = dict[str, Any]

RATE_WINDOW_S = 120
#: A gap that ended less than this ago counts as open: its device is still silent.
GAP_OPEN = timedelta(minutes=1)


async def list_topics(conn: Connection, now: datetime) -> list[Row]:
    """Return per topic totals, rates over the last two whole minutes and the current one, and the writer's progress.

    `unplaced_because` is the newest reason of an unplaced record, while its event is stored. `position` and `places` (by partition) are the writer's. If the
    log is a table of this database, `end` is the log's end, and `oldest_at` is when the oldest unwritten record was appended.
    """
    return await query_rows(
        conn,
        SQL("""
            WITH seen AS (
                SELECT topic, sum(records)::bigint AS records, sum(duplicates)::bigint AS duplicates, sum(late)::bigint AS late,
                       sum(dead)::bigint AS dead, sum(unplaced)::bigint AS unplaced, max(ts) AS last_at,
                       sum(values_) FILTER (WHERE ts >= span.start) AS values_, sum(bytes) FILTER (WHERE ts >= span.start) AS bytes,
                       greatest(extract(epoch FROM %(now)s - greatest(min(ts) FILTER (WHERE ts >= span.start), span.start)), 1) AS window_s
                FROM ingest_minute, (SELECT date_trunc('minute', %(now)s) - make_interval(secs => %(window)s) AS start) span
                GROUP BY topic, span.start
            ), positions AS (
                -- Of a topic in several logs, the log that was read last.
                SELECT DISTINCT ON (topic) topic, log_id, sum(position)::bigint AS position, max(updated_at) AS updated_at,
                       jsonb_object_agg(partition, position) AS places
                FROM stream_position WHERE consumer_group = 'writer' GROUP BY topic, log_id ORDER BY topic, max(updated_at) DESC
            ), ends AS (
                SELECT t.name AS topic, i.log_id, sum(p.next_offset)::bigint AS "end", min(coalesce(
                    -- The batch that holds the next record to be written, or the oldest that is still there.
                    (SELECT CASE WHEN b.base_offset + b.records > w.next THEN b.appended_at END FROM log.batch b
                     WHERE b.topic_id = p.topic_id AND b.partition = p.partition AND b.base_offset <= w.next ORDER BY b.base_offset DESC LIMIT 1),
                    (SELECT b.appended_at FROM log.batch b
                     WHERE b.topic_id = p.topic_id AND b.partition = p.partition AND b.base_offset > w.next ORDER BY b.base_offset LIMIT 1)
                )) FILTER (WHERE p.next_offset > w.next) AS oldest_at
                FROM log.topic t JOIN log.partition p USING (topic_id) CROSS JOIN log.identity i
                LEFT JOIN stream_position s ON s.log_id = i.log_id AND s.consumer_group = 'writer' AND s.topic = t.name AND s.partition = p.partition
                CROSS JOIN LATERAL (SELECT coalesce(s.position, 0) AS next) w GROUP BY 1, 2
            )
            SELECT coalesce(s.topic, p.topic) AS topic, coalesce(s.records, 0) AS records, coalesce(s.values_ / s.window_s, 0)::float8 AS values_per_s,
                   coalesce(s.bytes / s.window_s, 0)::float8 AS bytes_per_s, p.position, p.places, e."end", e.oldest_at,
                   coalesce(p.updated_at, s.last_at) AS last_at, coalesce(s.duplicates, 0) AS duplicates, coalesce(s.late, 0) AS late,
                   coalesce(s.dead, 0) AS dead, coalesce(s.unplaced, 0) AS unplaced,
                   CASE WHEN s.unplaced > 0 THEN (SELECT v.payload -> 'reasons' ->> 0 FROM event v WHERE v.kind = 'unplaced'
                        AND v.payload ->> 'topic' = s.topic ORDER BY v.event_id DESC LIMIT 1) END AS unplaced_because
            FROM seen s FULL JOIN positions p ON p.topic = s.topic LEFT JOIN ends e ON e.topic = coalesce(s.topic, p.topic) AND (p.log_id IS NULL OR e.log_id = p.log_id) ORDER BY 1 LIMIT 1000
        """),
        {"now": now, "window": RATE_WINDOW_S},
    )


async def count_by_step(conn: Connection, from_s: float, step_s: int, steps: int) -> list[Row]:
    """Count per topic, with the kind of device in its schema, records and dead records in each step of [from_s, from_s + steps x step_s)."""
    return await query_rows(
        conn,
        SQL("""
            SELECT m.topic, s.kind, floor((extract(epoch FROM m.ts) - %(from)s) / %(step)s)::int AS at,
                   sum(m.records)::bigint AS records, sum(m.dead)::bigint AS dead
            FROM ingest_minute m LEFT JOIN LATERAL (
                SELECT kind FROM ldms_schema l WHERE m.topic = 'ldms.' || l.name ORDER BY l.last_seen DESC LIMIT 1
            ) s ON true
            WHERE m.ts >= to_timestamp(%(from)s) AND m.ts < to_timestamp(%(from)s + %(step)s::float8 * %(steps)s)
            GROUP BY 1, 2, 3 ORDER BY 1, 3
        """),
        {"from": from_s, "step": step_s, "steps": steps},
    )


async def list_schemas(conn: Connection) -> list[Row]:
    """Return the known LDMS schemas, newest first."""
    return await query_rows(
        conn,
        SQL(
            "SELECT schema_id, name, digest, kind, jsonb_array_length(CASE jsonb_typeof(columns) WHEN 'array' THEN columns ELSE '[]' END)"
            " AS columns, ARRAY(SELECT c ->> 'name' FROM jsonb_array_elements(CASE jsonb_typeof(columns) WHEN 'array' THEN columns ELSE '[]' END) c"
            " WHERE c -> 'unknown' = 'true') AS unknown, first_seen, last_seen, records FROM ldms_schema ORDER BY last_seen DESC, schema_id LIMIT 200"
        ),
    )


async def list_gaps(conn: Connection, limit: int, now: datetime) -> list[Row]:
    """Return the newest gaps, and whether each is open."""
    return await query_rows(
        conn,
        SQL("""
            SELECT gap_id AS id, fabric_id, device, schema, from_ts AS "from", to_ts AS "to", reason, to_ts > %s AS open
            FROM gap ORDER BY to_ts DESC, gap_id DESC LIMIT %s
        """),
        [now - GAP_OPEN, limit],
    )


async def gap_total(conn: Connection) -> int:
    """Count the stored gaps."""
    return int((await query_rows(conn, SQL("SELECT count(*) AS n FROM gap")))[0]["n"])


async def silent_devices(conn: Connection, now: datetime) -> int:
    """Count the devices with an open gap."""
    rows = await query_rows(
        conn, SQL("SELECT count(DISTINCT (fabric_id, device)) AS n FROM gap WHERE to_ts > %s"), [now - GAP_OPEN]
    )
    return int(rows[0]["n"])


async def group_silent_devices(conn: Connection, now: datetime, limit: int) -> list[Row]:
    """Group devices with an open gap by schema and the gap's first minute, largest group first."""
    return await query_rows(
        conn,
        SQL("""
            SELECT schema, date_trunc('minute', from_ts) AS "from", count(DISTINCT (fabric_id, device)) AS devices
            FROM gap WHERE to_ts > %s GROUP BY 1, 2 ORDER BY devices DESC, "from", schema LIMIT %s
        """),
        [now - GAP_OPEN, limit],
    )


async def list_gap_spans(conn: Connection, fabric_id: int, from_: datetime, to: datetime, limit: int) -> list[Row]:
    """Return gaps of a fabric that touch [from, to), merged if they overlap, with their number of devices: the largest, in order of time."""
    return await query_rows(
        conn,
        SQL("""
            WITH touching AS (
                SELECT device, from_ts, to_ts,
                       max(to_ts) OVER (ORDER BY from_ts, to_ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM gap WHERE fabric_id = %(fabric)s AND to_ts > %(from)s AND from_ts < %(to)s
            ), numbered AS (
                SELECT device, from_ts, to_ts,
                       count(*) FILTER (WHERE before IS NULL OR from_ts > before) OVER (ORDER BY from_ts, to_ts) AS silence
                FROM touching
            ), joined AS (
                SELECT min(from_ts) AS "from", max(to_ts) AS "to", count(DISTINCT device) AS devices
                FROM numbered GROUP BY silence ORDER BY devices DESC, "from" LIMIT %(limit)s
            )
            SELECT * FROM joined ORDER BY "from"
        """),
        {"fabric": fabric_id, "from": from_, "to": to, "limit": limit},
    )


async def dead_letters(conn: Connection, limit: int, before: int | None = None) -> list[Row]:
    """Return dead letters numbered below `before`, newest first, without their bytes."""
    return await query_rows(
        conn,
        SQL(
            'SELECT dead_letter_id AS id, at, topic, partition, offset_ AS "offset", source, where_ AS "where", reason, raw_bytes'
            " FROM dead_letter WHERE %(before)s::bigint IS NULL OR dead_letter_id < %(before)s"
            " ORDER BY dead_letter_id DESC LIMIT %(limit)s"
        ),
        {"before": before, "limit": limit},
    )


async def dead_letter_total(conn: Connection) -> int:
    """Count the stored dead letters."""
    rows = await query_rows(conn, SQL("SELECT count(*) AS n FROM dead_letter"))
    return int(rows[0]["n"])


async def dead_letters_since(conn: Connection, since: datetime) -> int:
    """Count the dead letters since a time."""
    rows = await query_rows(conn, SQL("SELECT count(*) AS n FROM dead_letter WHERE at > %s"), [since])
    return int(rows[0]["n"])


async def dead_letter_raw(conn: Connection, number: int) -> bytes | None:
    """Return the first 64 kB of a dead letter, or None."""
    rows = await query_rows(conn, SQL("SELECT raw FROM dead_letter WHERE dead_letter_id = %s"), [number])
    return bytes(rows[0]["raw"]) if rows else None


async def position_age_s(conn: Connection, now: datetime) -> float | None:
    """Return seconds since the writer last advanced a position, or None if it never did."""
    rows = await query_rows(
        conn,
        SQL(
            "SELECT CASE WHEN count(*) > 0 THEN greatest(extract(epoch FROM %s - max(updated_at)), 0) END::float8 AS age FROM stream_position WHERE consumer_group = 'writer'"
        ),
        [now],
    )
    age_s: float | None = rows[0]["age"]
    return age_s
