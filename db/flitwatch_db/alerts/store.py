"""Alerts as rows: rules, open alerts, silences, and the outbox of notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import psycopg
from psycopg.types.json import Jsonb

from flitwatch_db.core.connection import clock_s, fetch_rows
from flitwatch_domain.alerts import Rule, Sample, SeriesState, read_rule
from flitwatch_domain.errors import BadInput
from flitwatch_domain.incidents import epoch_to_datetime

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
#: Lock of the only engine that evaluates and delivers; a second engine waits until it ends.
LOCK = 7205759403792796
#: Beginning of a notice's error if its receiver did not answer. Until its next attempt, the receiver's other notices wait too.
UNANSWERED = "no answer: "


def as_jsonb(value: Any) -> Jsonb:
    """Convert a value to a jsonb parameter; non-finite numbers become null, because JSON has no NaN."""
    return Jsonb(value, dumps=lambda v: orjson.dumps(v, option=orjson.OPT_SERIALIZE_NUMPY).decode())


def acquire_leadership(conn: Connection) -> bool:
    """Return whether this connection has become the only alert engine of the database."""
    row = conn.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()
    return bool(row and row[0])


def save_rule(conn: Connection, rule: Rule, source: str) -> None:
    """Store a rule; a rule from the file never replaces one that was changed through the API."""
    conn.execute(
        "INSERT INTO alert_rule AS r (name, rule, source) VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE SET rule = excluded.rule,"
        " source = excluded.source, updated_at = clock_timestamp()"
        " WHERE (r.source = 'file' OR excluded.source = 'api') AND r.rule <> excluded.rule",
        [rule.name, as_jsonb(rule.model_dump(mode="json")), source],
    )


def delete_rule(conn: Connection, name: str) -> bool:
    """Remove a rule and end its alerts."""
    gone = conn.execute("DELETE FROM alert_rule WHERE name = %s", [name]).rowcount
    return bool(gone)


def sync_file(conn: Connection, rules: Iterable[Rule]) -> None:
    """Replace the file's rules in the table; rules from the API are kept."""
    listed = list(rules)
    for rule in listed:
        save_rule(conn, rule, "file")
    conn.execute(
        "DELETE FROM alert_rule WHERE source = 'file' AND NOT name = ANY(%s)", [[rule.name for rule in listed]]
    )


def load_rules(
    conn: Connection, refused: Callable[[str, str], object] = lambda name, why: None
) -> list[tuple[Rule, float | None]]:
    """Return all rules, each with the time through which it has been evaluated.

    `refused` is called for each rule that another version stored and this version does not accept.
    """
    rows = conn.execute(
        "SELECT name, rule, extract(epoch FROM through)::float8 FROM alert_rule ORDER BY name"
    ).fetchall()
    read: list[tuple[Rule, float | None]] = []
    for name, rule, through in rows:
        try:
            read.append((read_rule(rule, f"rule {name}"), through))
        except BadInput as problem:
            refused(name, problem.message)
    return read


def set_evaluated_through(conn: Connection, name: str, through_s: float) -> None:
    """Record the time through which a rule has been evaluated."""
    conn.execute("UPDATE alert_rule SET through = %s WHERE name = %s", [epoch_to_datetime(through_s), name])


def counted_through_s(conn: Connection) -> float | None:
    """Return the time through which counters of live fabrics are complete: the earliest among writers active in the last ten minutes."""
    row = conn.execute(
        "SELECT extract(epoch FROM min(through))::float8 FROM (SELECT max((payload ->> 'through')::timestamptz) AS through"
        " FROM event WHERE kind = 'counters' AND at > now() - interval '10 minutes' GROUP BY payload ->> 'fabric_id') t"
        " WHERE through > now() - interval '1 hour'"
    ).fetchone()
    return None if row is None else row[0]


def open_series(conn: Connection, rule: str) -> dict[tuple[tuple[str, str], ...], tuple[int, SeriesState]]:
    """Return open alerts of a rule by their labels: (alert_id, state)."""
    rows = conn.execute(
        "SELECT alert_id, labels, phase, extract(epoch FROM since)::float8, extract(epoch FROM seen)::float8, peak FROM alert"
        " WHERE rule = %s AND phase <> 'resolved'",
        [rule],
    ).fetchall()
    return {
        tuple(sorted(labels.items())): (number, SeriesState(phase, since, seen_s, peak))
        for number, labels, phase, since, seen_s, peak in rows
    }


def open_alert(conn: Connection, rule: Rule, sample: Sample, held: SeriesState, evidence: Mapping[str, Any]) -> int:
    """Add an alert, pending or firing."""
    labels = dict(sample.labels)
    row = conn.execute(
        "INSERT INTO alert (rule, labels, phase, severity, since, seen, fired_at, value, peak, probability, summary, evidence)"
        " VALUES (%s, %s, %s, %s, %s, %s, CASE WHEN %s THEN %s END, %s, %s, %s, %s, %s) RETURNING alert_id",
        [
            rule.name,
            as_jsonb(labels),
            held.phase,
            rule.severity,
            epoch_to_datetime(held.since_s),
            epoch_to_datetime(held.seen_s),
            held.phase == "firing",
            epoch_to_datetime(held.since_s),
            sample.value,
            held.peak,
            sample.probability,
            rule.described(sample),
            as_jsonb(evidence),
        ],
    ).fetchone()
    assert row is not None
    return int(row[0])


def move_alert(
    conn: Connection,
    number: int,
    held: SeriesState,
    sample: Sample,
    fires: bool,
    evidence: Mapping[str, Any],
    text: str,
) -> None:
    """Update an open alert's state and text; the evidence from the time when it began to fire is kept."""
    conn.execute(
        "UPDATE alert SET phase = %s, seen = %s, value = %s, peak = %s, probability = %s,"
        " since = CASE WHEN %s THEN %s ELSE since END, fired_at = CASE WHEN %s THEN %s ELSE fired_at END,"
        " evidence = CASE WHEN %s THEN %s ELSE evidence END, summary = %s WHERE alert_id = %s",
        [
            held.phase,
            epoch_to_datetime(held.seen_s),
            sample.value,
            held.peak,
            sample.probability,
            fires,
            epoch_to_datetime(held.since_s),
            fires,
            epoch_to_datetime(held.since_s),
            fires,
            as_jsonb(evidence),
            text,
            number,
        ],
    )


def list_unexplained_alerts(conn: Connection) -> list[tuple[int, str]]:
    """Return the numbers and job ids of firing alerts about a job whose evidence has no explanation yet."""
    return conn.execute(
        "SELECT alert_id, job_id FROM alert, coalesce(labels ->> 'job', evidence ->> 'job') AS job_id"
        " WHERE phase = 'firing' AND job_id IS NOT NULL AND NOT evidence ? 'explanation' ORDER BY alert_id"
    ).fetchall()


def add_evidence(conn: Connection, number: int, evidence: Mapping[str, Any]) -> None:
    """Add entries to the evidence of an alert."""
    conn.execute("UPDATE alert SET evidence = evidence || %s WHERE alert_id = %s", [as_jsonb(evidence), number])


def close_alert(conn: Connection, number: int, at_s: float, text: str | None = None) -> bool:
    """End an alert, with its final text, and return whether it had fired; one that never fired is deleted."""
    fired = conn.execute(
        "UPDATE alert SET phase = 'resolved', resolved_at = %s, summary = coalesce(%s, summary) WHERE alert_id = %s AND phase = 'firing'",
        [epoch_to_datetime(at_s), text, number],
    ).rowcount
    if not fired:
        conn.execute("DELETE FROM alert WHERE alert_id = %s AND phase = 'pending'", [number])
    return bool(fired)


def close_orphans(conn: Connection) -> list[int]:
    """End the alerts of deleted or disabled rules; return those that had fired."""
    rows = conn.execute(
        "SELECT alert_id FROM alert a WHERE phase <> 'resolved' AND NOT EXISTS"
        " (SELECT FROM alert_rule r WHERE r.name = a.rule AND (r.rule ->> 'enabled')::boolean)"
    ).fetchall()
    at = clock_s(conn)
    return [number for (number,) in rows if close_alert(conn, number, at)]


def list_firing_alerts(conn: Connection) -> list[Row]:
    return fetch_rows(
        conn,
        "SELECT a.*, r.rule AS definition FROM alert a JOIN alert_rule r ON r.name = a.rule WHERE phase = 'firing' ORDER BY alert_id",
    )


def load_alert(conn: Connection, number: int) -> Row:
    return fetch_rows(conn, "SELECT * FROM alert WHERE alert_id = %s", [number])[0]


def active_silences(conn: Connection) -> list[tuple[int, dict[str, str]]]:
    """Return (silence_id, matchers) of the active silences."""
    return conn.execute(
        "SELECT silence_id, matchers FROM alert_silence WHERE now() >= starts_at AND now() < ends_at ORDER BY silence_id"
    ).fetchall()


def add_silence(
    conn: Connection, matchers: dict[str, str], starts: datetime, ends: datetime, comment: str, by: str
) -> int:
    """Silence matching alerts for a period."""
    row = conn.execute(
        "INSERT INTO alert_silence (matchers, starts_at, ends_at, comment, created_by) VALUES (%s, %s, %s, %s, %s) RETURNING silence_id",
        [as_jsonb(matchers), starts, ends, comment, by],
    ).fetchone()
    assert row is not None
    return int(row[0])


def end_silence(conn: Connection, number: int) -> bool:
    """End a silence now; return whether it existed."""
    return bool(
        conn.execute(
            "UPDATE alert_silence SET ends_at = least(ends_at, now()) WHERE silence_id = %s", [number]
        ).rowcount
    )


def queue_notice(
    conn: Connection, alert_id: int, receiver: str, group_key: str, wait_s: float, repeat_s: float
) -> None:
    """Queue a notice of a firing alert for a receiver: once, and again `repeat_s` after each delivery."""
    conn.execute(
        "INSERT INTO alert_notice (alert_id, receiver, status, turn, group_key, due_at)"
        " SELECT %(alert)s, %(receiver)s, 'firing', coalesce(max(turn) + 1, 0), %(group)s,"
        " clock_timestamp() + CASE WHEN count(*) = 0 THEN %(wait)s ELSE 0 END * interval '1 second'"
        " FROM alert_notice WHERE alert_id = %(alert)s AND receiver = %(receiver)s AND status = 'firing'"
        " HAVING count(*) = 0 OR count(*) = count(delivered_at) AND max(delivered_at) < clock_timestamp() - %(repeat)s * interval '1 second'"
        " ON CONFLICT DO NOTHING",
        {"alert": alert_id, "receiver": receiver, "group": group_key, "wait": wait_s, "repeat": repeat_s},
    )


def queue_resolved_notices(conn: Connection) -> int:
    """Queue a resolved notice for every receiver that was notified; drop undelivered notices of resolved alerts."""
    conn.execute(
        "DELETE FROM alert_notice n USING alert a WHERE a.alert_id = n.alert_id AND a.phase = 'resolved' AND n.status = 'firing'"
        " AND n.delivered_at IS NULL AND n.attempts = 0 AND n.batch IS NULL"
    )
    return conn.execute(
        "INSERT INTO alert_notice (alert_id, receiver, status, turn, group_key)"
        " SELECT DISTINCT n.alert_id, n.receiver, 'resolved', 0, n.group_key FROM alert_notice n JOIN alert a USING (alert_id)"
        " WHERE a.phase = 'resolved' AND n.status = 'firing' AND NOT EXISTS (SELECT FROM alert_notice o WHERE o.alert_id = n.alert_id"
        " AND o.receiver = n.receiver AND o.status = 'resolved') ON CONFLICT DO NOTHING"
    ).rowcount


def list_unnotified_alerts(conn: Connection, receivers: list[str]) -> list[Row]:
    """Return alerts that need a notice to one of these receivers."""
    return fetch_rows(
        conn,
        "SELECT * FROM alert WHERE alert_id IN (SELECT alert_id FROM alert_notice WHERE delivered_at IS NULL AND receiver = ANY(%s))",
        [receivers],
    )


@dataclass(frozen=True)
class ReceiverFigures:
    """Figures of one receiver: undelivered notices, failed ones, and the age of the oldest due one."""

    receiver: str
    waiting: int
    failing: int
    overdue_s: float


def receiver_figures(conn: Connection) -> list[ReceiverFigures]:
    """Return figures of the receivers with pending notices."""
    rows = conn.execute(
        "SELECT receiver, count(*), count(*) FILTER (WHERE attempts > 0),"
        " greatest(0, extract(epoch FROM clock_timestamp() - min(created_at)))::float8"
        " FROM alert_notice WHERE delivered_at IS NULL GROUP BY receiver ORDER BY receiver"
    ).fetchall()
    return [ReceiverFigures(*row) for row in rows]


def due_batches(conn: Connection, interval_s: float, quiet: list[int]) -> list[tuple[str, str, str | None]]:
    """Return due (receiver, group, batch), failed ones first, except for the alerts in `quiet`; a batch of None does not exist yet.

    A group's new notices wait while one of its batches waits for its next attempt, and until its last message is old enough. All notices of a receiver
    that did not answer wait for the next attempt: each message to it could take the longest time of a delivery.
    """
    return conn.execute(
        "SELECT receiver, group_key, batch FROM ("
        " SELECT receiver, group_key, batch, min(due_at) AS due FROM alert_notice WHERE delivered_at IS NULL AND batch IS NOT NULL"
        "  AND NOT alert_id = ANY(%(quiet)s) GROUP BY 1, 2, 3"
        " UNION ALL SELECT receiver, group_key, NULL, min(due_at) FROM alert_notice n WHERE delivered_at IS NULL AND batch IS NULL"
        "  AND NOT alert_id = ANY(%(quiet)s) AND NOT EXISTS (SELECT FROM alert_notice d WHERE d.receiver = n.receiver AND d.group_key = n.group_key"
        "   AND (d.delivered_at > clock_timestamp() - %(interval)s * interval '1 second'"
        "    OR d.delivered_at IS NULL AND d.batch IS NOT NULL AND d.due_at > clock_timestamp())) GROUP BY 1, 2"
        ") t WHERE due <= clock_timestamp() AND NOT EXISTS (SELECT FROM alert_notice h WHERE h.receiver = t.receiver AND h.delivered_at IS NULL"
        "  AND h.due_at > clock_timestamp() AND starts_with(h.error, %(unanswered)s)) ORDER BY batch IS NULL, due",
        {"quiet": quiet, "interval": interval_s, "unanswered": UNANSWERED},
    ).fetchall()


def fresh_notices(conn: Connection, receiver: str, group_key: str, quiet: list[int]) -> list[int]:
    """Return a group's notices without a batch, oldest first, except for the alerts in `quiet`; a notice waits for earlier ones about the same alert."""
    rows = conn.execute(
        "SELECT notice_id FROM alert_notice n WHERE receiver = %s AND group_key = %s AND delivered_at IS NULL AND batch IS NULL"
        " AND NOT alert_id = ANY(%s) AND NOT EXISTS (SELECT FROM alert_notice o WHERE o.alert_id = n.alert_id AND o.receiver = n.receiver"
        " AND o.delivered_at IS NULL AND o.batch IS NOT NULL) ORDER BY notice_id LIMIT 500",
        [receiver, group_key, quiet],
    ).fetchall()
    return [number for (number,) in rows]


def make_batch(conn: Connection, numbers: list[int], batch: str) -> None:
    """Combine notices into one message."""
    conn.execute("UPDATE alert_notice SET batch = %s WHERE notice_id = ANY(%s)", [batch, numbers])


def leave_batches(conn: Connection, quiet: list[int]) -> None:
    """Remove notices about the alerts in `quiet` from their message; the rest of the message is kept."""
    conn.execute(
        "UPDATE alert_notice SET batch = NULL WHERE delivered_at IS NULL AND batch IS NOT NULL AND alert_id = ANY(%s)",
        [quiet],
    )


def list_open_notices(conn: Connection, batch: str) -> list[Row]:
    """Return the open notices of a batch with their alerts, oldest first."""
    return fetch_rows(
        conn,
        "SELECT n.notice_id, n.status, n.turn, n.attempts, a.* FROM alert_notice n JOIN alert a USING (alert_id)"
        " WHERE n.batch = %s AND n.delivered_at IS NULL ORDER BY n.notice_id",
        [batch],
    )


def mark_notices_delivered(conn: Connection, numbers: list[int]) -> None:
    conn.execute(
        "UPDATE alert_notice SET delivered_at = clock_timestamp(), tried_at = clock_timestamp(), attempts = attempts + 1, error "
        "= NULL WHERE notice_id = ANY(%s)",
        [numbers],
    )


def postpone_notices(conn: Connection, numbers: list[int], why: str, retry_s: float) -> None:
    """Postpone notices to another attempt."""
    conn.execute(
        "UPDATE alert_notice SET attempts = attempts + 1, error = %s, tried_at = clock_timestamp(), due_at = clock_timestamp() "
        "+ %s * interval '1 second'"
        " WHERE notice_id = ANY(%s)",
        [why[:400], retry_s, numbers],
    )


def forget_old(conn: Connection) -> None:
    """Delete alerts 400 days after they ended, and silences likewise."""
    conn.execute("DELETE FROM alert WHERE resolved_at < now() - interval '400 days'")
    conn.execute("DELETE FROM alert_silence WHERE ends_at < now() - interval '400 days'")
