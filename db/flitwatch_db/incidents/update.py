"""Update of incidents from the running jobs, the whole runs of ended jobs, and the time during which causes kept their links busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
from psycopg.sql import SQL

from flitwatch_db.core.connection import fetch_rows
from flitwatch_db.core.events import emit_event
from flitwatch_db.incidents import shown, store
from flitwatch_db.incidents.store import of_explanation
from flitwatch_db.jobs import explanation, flow
from flitwatch_db.jobs.incident import MAIN_FABRIC, running_with_steps
from flitwatch_domain.errors import NotFound
from flitwatch_domain.incidents import (
    CALM_S,
    LONGEST_CALM_S,
    MINUTE_S,
    IncidentHead,
    Minute,
    find_busy_interval,
    find_longest_calm,
)

Conn = psycopg.Connection[Any]
Row = dict[str, Any]

#: Seconds after which the counters of a minute, and a job's last counters, are stored.
SETTLED_S = 60.0
#: Time limit in seconds for examining ended jobs in one round: newest first, until all are examined.
LONGEST_ROUND_S = 3.0
MOST_ENDED = 200
#: Fields whose change causes an event.
REPORTED_FIELDS: tuple[Literal["state", "title", "slowed", "slow_now"], ...] = ("state", "title", "slowed", "slow_now")
#: Maximum number of an incident's minutes per round whose traffic is laid on links, and longest time from its slow jobs during which a cause is followed.
MOST_MINUTES, LONGEST_S = 12, 6 * 3600.0


def update_incidents(conn: Conn, now_s: float, beat: Callable[[], object] = lambda: None, heard: int = 0) -> list[int]:
    """Update all incidents; return the numbers of those that changed.

    Parameters
    ----------
    conn : psycopg.Connection
        With role `writer`, in autocommit mode.
    now_s : epoch seconds
    beat : called after each job
    heard : number of the last processed event
    """
    changed: set[int] = set()
    store.judge_again(conn, heard)
    before = {number: _find_head(conn, number) for number in _list_followed_incidents(conn, now_s)}
    numbers = conn.execute("SELECT fabric_id FROM fabric WHERE NOT timeless ORDER BY fabric_id").fetchall()
    fabric_ids = {fabric_id for (fabric_id,) in numbers}
    for fabric_id in sorted(fabric_ids):
        machine: explanation.Machine | None = None
        for job in running_with_steps(conn, fabric_id, now_s):
            beat()
            # A large fabric takes seconds to read, and most stored fabrics have no running job.
            machine = machine or explanation.machine_of(conn, fabric_id)
            with conn.transaction():
                changed.update(_examine_job(conn, job, machine, now_s, final=False))
    begun = time.monotonic()
    # A machine that was added since is examined in the next round.
    for job in (row for row in _list_ended_jobs(conn, now_s) if row["fabric_id"] in fabric_ids):
        beat()
        with conn.transaction():
            incident_ids = _examine_job(conn, job, explanation.machine_of(conn, job["fabric_id"]), now_s, final=True)
            changed.update(incident_ids)
            # An incident that ended long ago is never shown as ongoing.
            for incident_id in incident_ids:
                _extend_incident(conn, incident_id, now_s)
            store.mark_judged(conn, job["job_pk"])
        if time.monotonic() - begun > LONGEST_ROUND_S:
            break
    for incident_id in sorted(changed.union(_list_followed_incidents(conn, now_s))):
        beat()
        with conn.transaction():
            _extend_incident(conn, incident_id, now_s)
        changed.add(incident_id)
    return _emit_changes(conn, changed, before)


def _find_head(conn: Conn, incident_id: int) -> IncidentHead | None:
    """Return an incident in its shown form; None if it was merged into another."""
    try:
        return shown.find_head(conn, incident_id)
    except NotFound:
        return None


def _examine_job(conn: Conn, job: Row, machine: explanation.Machine, now_s: float, final: bool) -> list[int]:
    """Store the finding of one job; return its present and former incidents."""
    job_explanation = explanation.explain_job(conn, job, now_s, machine)
    new_finding = of_explanation(job_explanation)
    incident_ids = (
        []
        if new_finding is None
        else [store.store_finding(conn, machine.fabric_id, job["job_pk"], job["simulated"], new_finding, final)]
    )
    if final:
        incident_ids += store.withdraw_job(
            conn,
            job["job_pk"],
            incident_ids[0] if incident_ids else None,
            job_explanation["slowdown"],
            job_explanation["end"],
        )
    return incident_ids


def _list_ended_jobs(conn: Conn, now_s: float) -> list[Row]:
    """Return jobs with steps whose whole run has not been examined, latest end first."""
    return fetch_rows(
        conn,
        SQL("""
            SELECT j.job_pk, j.cluster, j.job_id, j.user_name AS "user", j.account, j.name, j.state, j.nodes, j.simulated,
                   extract(epoch FROM j.start_ts)::float8 AS start_s, extract(epoch FROM j.end_ts)::float8 AS end_s, p.fabric_id
            FROM job j JOIN LATERAL {} p ON true
            JOIN fabric f ON f.fabric_id = p.fabric_id
            WHERE j.job_pk IN (SELECT r.job_pk FROM run r WHERE NOT EXISTS (SELECT FROM incident_judged g WHERE g.job_pk = r.job_pk))
              AND j.end_ts < to_timestamp(%(now)s) AND NOT f.timeless
            ORDER BY j.end_ts DESC, j.job_pk DESC LIMIT %(most)s
        """).format(MAIN_FABRIC),
        {"now": now_s - SETTLED_S, "most": MOST_ENDED},
    )


def _list_followed_incidents(conn: Conn, now_s: float) -> list[int]:
    """Return open incidents, and those that another burst of a running cause may reopen."""
    rows = conn.execute(
        """
        SELECT incident_id FROM incident i WHERE merged_into IS NULL AND (ended_at IS NULL OR ended_at >= to_timestamp(%(now)s - %(calm)s) AND EXISTS (
            SELECT FROM incident_part p JOIN job j ON j.job_pk = p.cause_pk
            WHERE p.incident_id = i.incident_id AND (j.end_ts > to_timestamp(%(now)s) OR j.end_ts IS NULL AND j.state = 'RUNNING')))
        """,
        {"now": now_s, "calm": LONGEST_CALM_S},
    )
    return [int(number) for (number,) in rows]


@dataclass(frozen=True)
class _Span:
    """An incident's slow stretch and the run times of its causes (by job_pk), epoch seconds; `ongoing`: a job is slow now."""

    began_s: float
    until_s: float
    first_s: float
    last_s: float
    ongoing: bool
    causes: frozenset[int]


def _find_span(conn: Conn, incident_id: int, now_s: float) -> _Span | None:
    """Return the span of the slowed jobs and the causes; None if no job is left."""
    head = _find_head(conn, incident_id)
    row = fetch_rows(
        conn,
        SQL("""
            SELECT min(extract(epoch FROM v.since_at))::float8 AS began, max(extract(epoch FROM coalesce(v.until_at, j.end_ts)))::float8 AS until,
                   coalesce(bool_or(v.until_at IS NULL AND j.end_ts IS NULL AND j.state <> 'RUNAWAY'), false) AS ongoing
            FROM incident_victim v JOIN job j USING (job_pk) WHERE v.incident_id = %(incident)s
        """),
        {"incident": incident_id},
    )[0]
    if head is None or row["began"] is None:
        return None
    until = now_s if row["ongoing"] or row["until"] is None else min(row["until"], now_s)
    starts = [cause["start"].timestamp() for cause in head["causes"] if cause["start"] is not None]
    ends = [now_s if cause["end"] is None else min(cause["end"].timestamp(), now_s) for cause in head["causes"]]
    causes = frozenset(cause["job_pk"] for cause in head["causes"])
    return _Span(
        row["began"],
        max(until, row["began"]),
        min(starts, default=row["began"]),
        max(ends, default=until),
        row["ongoing"],
        causes,
    )


def _extend_incident(conn: Conn, incident_id: int, now_s: float) -> bool:
    """Follow the causes of an incident for as long as they keep the links busy; return whether its start or end changed."""
    span = _find_span(conn, incident_id, now_s)
    if span is None:
        return bool(
            conn.execute(
                "UPDATE incident SET ended_at = greatest(began_at, to_timestamp(%s)) WHERE incident_id = %s AND ended_at IS NULL AND merged_into IS NULL",
                [now_s, incident_id],
            ).rowcount
        )
    low_s, high_s, over = _follow_causes(conn, incident_id, span, now_s)
    # The onset of a slow stretch is accurate to some seconds, the start of a cause is exact.
    low_s, high_s = max(low_s, min(span.first_s, span.until_s)), min(high_s, max(span.last_s, span.until_s))
    return store.set_span(conn, incident_id, low_s, high_s if over and not span.ongoing else None)


def _follow_causes(conn: Conn, incident_id: int, span: _Span, now_s: float) -> tuple[float, float, bool]:
    """Return start and end of the time in which causes kept links busy, and whether it is over.

    It is over if all minutes were examined, and the causes have ended or been calm for longer than between their bursts.
    """
    quiet, watched = _load_watched_way(conn, incident_id)
    gone = span.last_s < now_s - SETTLED_S
    if quiet is None or not watched.router:
        return span.began_s, span.until_s, gone or now_s - span.until_s > CALM_S + SETTLED_S
    low_s = min(max(span.first_s, span.began_s - LONGEST_S), span.began_s)
    high_s = max(min(span.last_s + MINUTE_S, span.until_s + LONGEST_S, now_s), span.until_s)
    counted = [
        at for at in flow.minutes_counted(conn, watched, low_s, high_s) if at + MINUTE_S + SETTLED_S / 3 <= now_s
    ]
    sent = [flow.sent_by_minute(conn, watched.fabric_id, cause, low_s, high_s) for cause in span.causes]
    minutes_by_time = {minute.at_s: minute for minute in shown.list_minutes(conn, incident_id)}
    middle, minutes_left = (span.began_s + span.until_s) / 2, MOST_MINUTES
    while True:
        minutes = [minute for _, minute in sorted(minutes_by_time.items())]
        waited = [
            (minute.at_s, max(minute.waiting - quiet, 0.0) * minute.part)
            for minute in minutes
            if minute.part is not None
        ]
        longest_calm_s = max(map(find_longest_calm, [*sent, waited]))
        low_s, high_s = find_busy_interval(minutes, quiet, span.began_s, span.until_s, longest_calm_s)
        new = [
            at
            for at in counted
            if at not in minutes_by_time and low_s - longest_calm_s <= at <= high_s + longest_calm_s
        ]
        next_s = sorted(new, key=lambda at: abs(at - middle))[:minutes_left]
        if not next_s:
            return low_s, high_s, not new and (gone or now_s - high_s > longest_calm_s + SETTLED_S)
        new_minutes = [
            Minute(at, waiting, None if part is None else sum(share for pk, share in part.items() if pk in span.causes))
            for at, (waiting, part) in zip(next_s, flow.by_minute(conn, watched, quiet, next_s), strict=True)
        ]
        store.add_minutes(conn, incident_id, new_minutes)
        minutes_by_time |= {minute.at_s: minute for minute in new_minutes}
        minutes_left -= len(next_s)


def _load_watched_way(conn: Conn, incident_id: int) -> tuple[float | None, flow.Watched]:
    """Load the quiet waiting of an incident, and its watched path."""
    row = fetch_rows(
        conn,
        SQL("""
            SELECT i.quiet, coalesce(i.probe_pk, -1) AS job_pk, i.simulated, i.to_file_system, i.fabric_id, coalesce(n.router, '{}') AS router, coalesce(n.endpoint, '{}') AS endpoint,
                   (v.finding ->> 'quiet_s')::float8 AS quiet_s, (v.finding ->> 'quiet_width')::int AS quiet_width
            FROM incident i LEFT JOIN incident_victim v ON v.incident_id = i.incident_id AND v.job_pk = i.probe_pk
            LEFT JOIN LATERAL (
                SELECT array_agg(router) AS router, array_agg(coalesce(endpoint, -1)) AS endpoint FROM job_node
                WHERE job_pk = i.probe_pk AND fabric_id = i.fabric_id AND router IS NOT NULL
            ) n ON true
            WHERE i.incident_id = %(incident)s
        """),
        {"incident": incident_id},
    )[0]
    quiet, quiet_s, width = (row.pop(name) for name in ("quiet", "quiet_s", "quiet_width"))
    return quiet, flow.Watched(**row, quiet=None if quiet_s is None else (quiet_s, quiet_s + width))


def _emit_changes(conn: Conn, numbers: set[int], before: Mapping[int, IncidentHead | None]) -> list[int]:
    """Emit event `incident` for each incident that changed and is not merged into another; return their numbers."""
    changed_numbers = []
    for number in sorted(numbers):
        head, was = _find_head(conn, number), before.get(number)
        if head is None or (was is not None and all(head[name] == was[name] for name in REPORTED_FIELDS)):
            continue
        payload = {"incident_id": number, "fabric": head["fabric"], "state": head["state"], "slowed": head["slowed"]}
        emit_event(conn, "incident", {**payload, "jobs": " ".join(cause["job_id"] for cause in head["causes"])})
        changed_numbers.append(number)
    return changed_numbers
