"""Alerts, rules and silences for the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg.sql import SQL

from flitwatch_db.core.columns import Connection, query_rows

Row = dict[str, Any]
_HEAD = SQL(
    "alert_id, rule, labels, phase, severity, since, seen, fired_at, resolved_at, value, peak, probability, summary,"
    " coalesce((evidence ->> 'simulated')::boolean, false) AS simulated, evidence ->> 'page' AS page, evidence -> 'rule' ->> 'summary' AS template,"
    " evidence -> 'rule' -> 'where' AS about"
)


async def list_alerts(
    conn: Connection,
    limit: int,
    before: int | None,
    phase: str | None,
    rule: str | None,
    from_: datetime | None,
    to: datetime | None,
) -> list[Row]:
    """Return alerts numbered below `before`, newest first, that were open at some time in [from, to]."""
    return await query_rows(
        conn,
        SQL("SELECT ")
        + _HEAD
        + SQL(
            " FROM alert WHERE (%(before)s::bigint IS NULL OR alert_id < %(before)s) AND (%(phase)s::text IS NULL OR phase = %(phase)s)"
            " AND (%(rule)s::text IS NULL OR rule = %(rule)s) AND (%(from)s::timestamptz IS NULL OR coalesce(resolved_at, now()) >= %(from)s)"
            " AND (%(to)s::timestamptz IS NULL OR since <= %(to)s) ORDER BY alert_id DESC LIMIT %(limit)s"
        ),
        {"before": before, "phase": phase, "rule": rule, "from": from_, "to": to, "limit": limit},
    )


async def find_alert(conn: Connection, number: int) -> Row | None:
    """Return an alert with its evidence and its notices."""
    rows = await query_rows(conn, SQL("SELECT ") + _HEAD + SQL(", evidence FROM alert WHERE alert_id = %s"), [number])
    if not rows:
        return None
    notices = await query_rows(
        conn,
        SQL(
            "SELECT receiver, status, turn, created_at AS created, delivered_at AS delivered, attempts,"
            " tried_at AS tried, error FROM alert_notice"
            " WHERE alert_id = %s ORDER BY notice_id DESC LIMIT 100"
        ),
        [number],
    )
    return {**rows[0], "notices": notices}


async def list_alert_rules(conn: Connection) -> list[Row]:
    """Return all rules by name."""
    return await query_rows(
        conn, SQL("SELECT rule, source, updated_at AS updated, through FROM alert_rule ORDER BY name")
    )


async def find_alert_rule(conn: Connection, name: str) -> Row | None:
    rows = await query_rows(
        conn, SQL("SELECT rule, source, updated_at AS updated, through FROM alert_rule WHERE name = %s"), [name]
    )
    return rows[0] if rows else None


async def list_silences(conn: Connection, limit: int) -> list[Row]:
    """Return silences, latest end first."""
    return await query_rows(
        conn,
        SQL(
            "SELECT silence_id, matchers, starts_at AS starts, ends_at AS ends, comment, created_by, created_at AS created,"
            " now() >= starts_at AND now() < ends_at AS active FROM alert_silence ORDER BY ends_at DESC, silence_id DESC LIMIT %s"
        ),
        [limit],
    )
